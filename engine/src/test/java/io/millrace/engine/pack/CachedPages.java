package io.millrace.engine.pack;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;

/// What Linux keeps of a file in memory.
final class CachedPages {
    private static final int PAGE = 4096;
    private static final String FLAGS = "VmFlags:";

    private CachedPages() {}

    /// How many pages of a file are in memory.
    @SuppressWarnings("restricted")
    static int of(Path file) throws Throwable {
        Linker linker = Linker.nativeLinker();
        var mincore = linker.downcallHandle(
                linker.defaultLookup().findOrThrow("mincore"),
                FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG, ADDRESS));
        try (Arena arena = Arena.ofConfined();
                FileChannel channel = FileChannel.open(file, StandardOpenOption.READ)) {
            long bytes = channel.size();
            MemorySegment mapping = channel.map(FileChannel.MapMode.READ_ONLY, 0, bytes, arena);
            MemorySegment present = arena.allocate(Math.ceilDiv(bytes, PAGE));
            if ((int) mincore.invokeExact(mapping, bytes, present) != 0) {
                throw new IOException("mincore failed on " + file);
            }
            int count = 0;
            for (byte page : present.toArray(JAVA_BYTE)) {
                count += page & 1;
            }
            return count;
        }
    }

    /// Flags of the mapping of a file, two letters each; `hg`: large pages were asked for.
    static List<String> flags(Path file) throws IOException {
        String mapped = file.toRealPath().toString();
        boolean within = false;
        for (String line : Files.readAllLines(Path.of("/proc/self/smaps"))) {
            within |= line.endsWith(mapped);
            if (within && line.startsWith(FLAGS)) {
                return List.of(line.substring(FLAGS.length()).trim().split(" "));
            }
        }
        throw new IOException(file + " is not mapped");
    }
}
