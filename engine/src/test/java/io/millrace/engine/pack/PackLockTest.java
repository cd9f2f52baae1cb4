package io.millrace.engine.pack;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.engine.file.NamedPipe;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

@Timeout(value = 30, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class PackLockTest {
    @TempDir
    private Path folder = Path.of("");

    @Test
    void itsFileGoesWithTheLock() throws IOException {
        Path pack = folder.resolve("a.pack");
        try (PackLock lock = PackLock.acquire(pack)) {
            assertThat(folder.resolve("a.pack.lock")).exists();
            assertThat(lock.waited()).isFalse();
        }
        assertThat(folder).isEmptyDirectory();
    }

    @Test
    void aLockFileThatCannotBeOpenedIsDoneWithout() throws IOException {
        Files.createDirectory(folder.resolve("a.pack.lock"));
        assertNotHad();
        Path missing = folder.resolve("missing").resolve("a.pack");
        try (PackLock lock = PackLock.acquire(missing)) {
            assertThat(lock.waited()).isFalse();
        }
    }

    @Test
    @DisabledOnOs(value = OS.WINDOWS, disabledReason = "named pipes need mkfifo")
    void aPipeInItsPlaceIsDoneWithout() throws IOException, InterruptedException {
        NamedPipe.make(folder.resolve("a.pack.lock"));
        assertNotHad();
    }

    @Test
    void aFileThatCannotBeLockedIsDoneWithout() throws IOException {
        // A closed channel refuses locks with an IOException, as file systems without locks do.
        FileChannel channel =
                FileChannel.open(folder.resolve("a.pack.lock"), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
        channel.close();
        try (PackLock lock = PackLock.hold(channel, folder.resolve("a.pack"))) {
            assertThat(lock.waited()).isFalse();
        }
    }

    private void assertNotHad() throws IOException {
        Path pack = folder.resolve("a.pack");
        try (PackLock lock = PackLock.acquire(pack);
                PackLock other = PackLock.acquire(pack)) {
            assertThat(lock.waited()).isFalse();
            assertThat(other.waited()).isFalse();
        }
    }
}
