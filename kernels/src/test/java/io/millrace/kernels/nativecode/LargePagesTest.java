package io.millrace.kernels.nativecode;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Random;
import org.junit.jupiter.api.Test;

class LargePagesTest {
    private static final int BYTES = 8 << 20;
    private static final int PAGE = 4096;

    private static boolean offered() throws IOException {
        Path setting = Path.of("/sys/kernel/mm/transparent_hugepage/enabled");
        return Files.exists(setting) && !Files.readString(setting).contains("[never]");
    }

    @Test
    @SuppressWarnings("restricted")
    void aForgottenFileIsReadAnewAndIsTheSame() throws Throwable {
        byte[] content = new byte[BYTES];
        new Random(1).nextBytes(content);
        // Beside the project: a temporary folder may be in memory, where nothing can be forgotten.
        Path file = Files.createTempFile(Path.of("target"), "large-pages", ".bin");
        try (Arena arena = Arena.ofConfined()) {
            try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
                channel.write(ByteBuffer.wrap(content));
                channel.force(true);
            }
            assertThat(LargePages.forget(file)).isEqualTo(offered());
            try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ)) {
                MemorySegment mapping = channel.map(FileChannel.MapMode.READ_ONLY, 0, BYTES, arena);
                if (offered() && !Files.getFileStore(file).type().equals("tmpfs")) {
                    assertThat(pagesInMemory(arena, mapping)).isZero();
                }
                assertThat(LargePages.advise(mapping)).isEqualTo(offered());
                assertThat(mapping.toArray(JAVA_BYTE)).isEqualTo(content);
            }
        } finally {
            Files.delete(file);
        }
    }

    @SuppressWarnings("restricted")
    private static int pagesInMemory(Arena arena, MemorySegment mapping) throws Throwable {
        Linker linker = Linker.nativeLinker();
        var mincore = linker.downcallHandle(
                linker.defaultLookup().findOrThrow("mincore"),
                FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG, ADDRESS));
        MemorySegment present = arena.allocate(BYTES / PAGE);
        assertThat((int) mincore.invokeExact(mapping, (long) BYTES, present)).isZero();
        int count = 0;
        for (byte page : present.toArray(JAVA_BYTE)) {
            count += page & 1;
        }
        return count;
    }

    /// Flags of the mapping that holds an address; `hg`: large pages were asked for.
    private static String flagsAt(long address) throws IOException {
        if (!offered()) {
            return "";
        }
        boolean within = false;
        for (String line : Files.readAllLines(Path.of("/proc/self/smaps"))) {
            String[] range = line.split("[- ]", 3);
            if (line.matches("[0-9a-f]+-[0-9a-f]+ .*")) {
                within = Long.parseUnsignedLong(range[0], 16) <= address
                        && address < Long.parseUnsignedLong(range[1], 16);
            } else if (within && line.startsWith("VmFlags:")) {
                return line;
            }
        }
        return "";
    }

    @Test
    void memoryIsZeroedAndGivenBackWithItsArena() throws IOException {
        for (long bytes : new long[] {1, 4096, (4 << 20) - 1, 4 << 20, (9 << 20) + 17}) {
            MemorySegment memory;
            try (Arena arena = Arena.ofShared()) {
                memory = LargePages.allocate(bytes, 64, arena);
                assertThat(memory.byteSize()).isEqualTo(bytes);
                assertThat(memory.address() % 64).isZero();
                assertThat(memory.mismatch(arena.allocate(bytes))).isEqualTo(-1);
                memory.fill((byte) 7);
                if (bytes >= 4 << 20) {
                    assertThat(flagsAt(memory.address()).contains(" hg")).isEqualTo(offered());
                }
            }
            assertThatThrownBy(() -> memory.get(JAVA_BYTE, 0)).isInstanceOf(IllegalStateException.class);
        }
    }

    @Test
    void forgetsNothingThatIsNotThere() {
        assertThat(LargePages.forget(Path.of("target", "no-such-file"))).isFalse();
    }
}
