package io.millrace.engine.pack;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.millrace.engine.error.MillraceException;
import io.millrace.engine.file.NamedPipe;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

@Timeout(value = 30, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class PackFileTest {
    @TempDir
    private Path folder = Path.of("");

    @Test
    @DisabledOnOs(value = OS.WINDOWS, disabledReason = "named pipes need mkfifo")
    void aPipeIsRefusedAndNotWaitedFor() throws IOException, InterruptedException {
        Path pipe = NamedPipe.make(folder.resolve("weights.millrace"));
        assertThatThrownBy(() -> PackFile.open(pipe))
                .isInstanceOf(IOException.class)
                .hasMessage("not a regular file");
        assertThatThrownBy(() -> PackCache.profileOf(pipe))
                .isInstanceOf(MillraceException.class)
                .hasMessageContaining(pipe.toString())
                .hasMessageContaining("not a regular file");
        Path link = Files.createSymbolicLink(folder.resolve("link"), pipe);
        assertThatThrownBy(() -> PackFile.open(link)).hasMessage("not a regular file");
    }

    @Test
    void aFolderIsRefused() {
        assertThatThrownBy(() -> PackFile.open(folder))
                .isInstanceOf(IOException.class)
                .hasMessage("not a regular file");
    }

    @Test
    @DisabledOnOs(value = OS.WINDOWS, disabledReason = "symbolic links need a privilege there")
    void linksAreFollowed() throws IOException {
        Path pack = SamplePack.write(folder.resolve("a.pack"), "/model");
        Path link = Files.createSymbolicLink(folder.resolve("link"), pack);
        try (PackFile file = PackFile.open(link)) {
            assertThat(file.index().sourceFolder()).isEqualTo("/model");
        }
        Files.delete(pack);
        assertThatThrownBy(() -> PackFile.open(link)).isInstanceOf(NoSuchFileException.class);
    }

    @Test
    void aFileSystemWithoutLocksKeepsNobodyFromWriting() throws IOException {
        // A closed channel refuses locks with an IOException, as such file systems do.
        FileChannel channel =
                FileChannel.open(folder.resolve("a"), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
        assertThat(PackWriter.tryLock(channel)).isTrue();
        channel.close();
        assertThat(PackWriter.tryLock(channel)).isTrue();
    }

    /// What is written lies in small pages of the system's cache; the mapping asks for large ones. Beside the
    /// project: a temporary folder may be in memory, where nothing can be forgotten.
    @Test
    @EnabledOnOs(value = OS.LINUX, disabledReason = "advice about pages is Linux's")
    void whatIsWrittenIsReadAnewIntoLargePages() throws Throwable {
        Path setting = Path.of("/sys/kernel/mm/transparent_hugepage/enabled");
        boolean offered = Files.exists(setting) && !Files.readString(setting).contains("[never]");
        Path target = Files.createDirectories(Path.of("target", "large-pages"));
        boolean forgets = offered && !Files.getFileStore(target).type().equals("tmpfs");
        Path pack = SamplePack.write(target.resolve("a.pack"), "/model");
        try {
            assertThat(CachedPages.of(pack) == 0).isEqualTo(forgets);
            try (PackFile file = PackFile.open(pack)) {
                assertThat(file.index().sourceFolder()).isEqualTo("/model");
                assertThat(CachedPages.flags(pack).contains("hg")).isEqualTo(offered);
            }
        } finally {
            Files.delete(pack);
        }
    }
}
