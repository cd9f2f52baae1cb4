package io.millrace.kernels.nativecode;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/// Memory that grows to the largest size asked for and keeps it: 64-byte aligned, zero when new, its
/// content lost when it grows. Not thread-safe.
final class Buffer implements AutoCloseable {
    private static final long ALIGNMENT = 64;

    private Arena arena = Arena.ofShared();
    private MemorySegment memory = MemorySegment.NULL;
    private int allocations;

    /// Makes room for some bytes and returns their memory.
    @SuppressWarnings("MustBeClosedChecker") // the old arena is closed first, the new one by close()
    MemorySegment bytes(long count) {
        if (memory.byteSize() < count) {
            arena.close();
            arena = Arena.ofShared();
            memory = arena.allocate(count + count / 4, ALIGNMENT);
            allocations++;
        }
        return memory;
    }

    /// Makes room for some floats and returns their address.
    long floats(long count) {
        return bytes(count * Float.BYTES).address();
    }

    /// The memory as it is.
    MemorySegment memory() {
        return memory;
    }

    /// How often it has grown.
    int allocations() {
        return allocations;
    }

    @Override
    public void close() {
        memory = MemorySegment.NULL;
        if (arena.scope().isAlive()) {
            arena.close();
        }
    }
}
