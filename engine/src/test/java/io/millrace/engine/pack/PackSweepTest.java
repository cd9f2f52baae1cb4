package io.millrace.engine.pack;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.engine.file.NamedPipe;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

class PackSweepTest {
    @TempDir
    private Path folder = Path.of("");

    @Test
    void whatAKilledProcessOfTheSameNumberLeftIsRemoved() throws IOException {
        String number = "." + ProcessHandle.current().pid() + ".";
        Files.writeString(folder.resolve(".a.pack" + number + "5f0c.tmp"), "left");
        try (PackWriter writer = PackWriter.create(folder.resolve("a.pack"))) {
            assertThat(files()).hasSize(2);
            PackSweep.run(folder, ".pack", folder.resolve("own.pack"));
            assertThat(files()).singleElement().asString().contains(".a.pack" + number);
            Files.writeString(folder.resolve(".a.pack" + number + "5f0c.tmp"), "left");
            PackSweep.abandoned(folder.resolve("a.pack"));
            assertThat(files()).hasSize(1);
            assertThat(writer).isNotNull();
        }
        assertThat(files()).isEmpty();
    }

    @Test
    void locksOfKilledProcessesAreRemovedAndHeldOnesStay() throws IOException {
        Files.createFile(folder.resolve("left.pack.lock"));
        Path held = Files.createFile(folder.resolve("held.pack.lock"));
        try (PackLock own = PackLock.acquire(folder.resolve("own.pack"));
                FileChannel other = FileChannel.open(held, StandardOpenOption.WRITE);
                FileLock lock = other.lock()) {
            PackSweep.run(folder, ".pack", folder.resolve("own.pack"));
            assertThat(files()).containsExactlyInAnyOrder(held, folder.resolve("own.pack.lock"));
            assertThat(own.waited()).isFalse();
            assertThat(lock.isValid()).isTrue();
        }
    }

    @Test
    void packsWhoseModelIsGoneAreRemoved() throws IOException {
        Path gone = SamplePack.write(
                folder.resolve("gone.pack"), folder.resolve("no-model").toString());
        Path kept = SamplePack.write(folder.resolve("kept.pack"), folder.toString());
        PackSweep.run(folder, ".pack", folder.resolve("own.pack"));
        assertThat(gone).doesNotExist();
        assertThat(kept).exists();
    }

    @Test
    void packsWhoseModelFolderHasNoNameHereStay() throws IOException {
        // NUL is in no path anywhere; U+FFFD stands for what the process that packed could not read
        Path impossible = SamplePack.write(folder.resolve("a.pack"), "/no-model\0");
        Path unreadable = SamplePack.write(folder.resolve("b.pack"), "/no-model\uFFFD");
        Path gone = SamplePack.write(
                folder.resolve("z.pack"), folder.resolve("no-model").toString());
        PackSweep.run(folder, ".pack", folder.resolve("own.pack"));
        assertThat(impossible).exists();
        assertThat(unreadable).exists();
        assertThat(gone).doesNotExist();
    }

    @Test
    @DisabledOnOs(value = OS.WINDOWS, disabledReason = "named pipes need mkfifo")
    @Timeout(value = 30, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
    void pipesAreLeftAloneAndNotWaitedFor() throws IOException, InterruptedException {
        NamedPipe.make(folder.resolve("a.pack"));
        NamedPipe.make(folder.resolve(".a.pack.1.5f0c.tmp"));
        Files.createSymbolicLink(folder.resolve("b.pack"), folder.resolve("a.pack"));
        Files.createDirectory(folder.resolve(".a.pack.2.5f0c.tmp"));
        PackSweep.run(folder, ".pack", folder.resolve("own.pack"));
        PackSweep.abandoned(folder.resolve("a.pack"));
        assertThat(files()).hasSize(4);
    }

    private List<Path> files() throws IOException {
        try (Stream<Path> paths = Files.list(folder)) {
            return paths.toList();
        }
    }
}
