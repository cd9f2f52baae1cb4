package io.millrace.kernels.vector;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/// Working memory of one kernels instance: native buffers that grow to the largest use and stay. All are grown by the
/// calling thread, those of every worker too, before a task is handed out: chance decides which worker gets a chunk,
/// and an operator of known shape must not allocate later because it was another one.
final class Scratch implements AutoCloseable {
    private final List<Buffer> buffers = new ArrayList<>();
    private boolean closed;

    /// A new, empty buffer.
    synchronized Buffer buffer() {
        Buffer buffer = new Buffer();
        buffers.add(buffer);
        return buffer;
    }

    /// How often a buffer has grown: constant after warm-up.
    synchronized long allocations() {
        long sum = 0;
        for (Buffer buffer : buffers) {
            sum += buffer.allocations;
        }
        return sum;
    }

    @Override
    public synchronized void close() {
        if (!closed) {
            closed = true;
            buffers.forEach(Buffer::free);
        }
    }

    /// One grow-only block of memory, aligned to 64 bytes.
    static final class Buffer {
        private @Nullable Arena arena;
        private long address;
        private long capacityBytes;
        private long allocations;

        private Buffer() {}

        /// Grows to at least `floats` floats, by the calling thread while no worker runs.
        void reserve(long floats) {
            floats(floats);
        }

        /// Address of at least `floats` floats. Contents are lost when it grows.
        @SuppressWarnings("MustBeClosed") // free() closes it
        long floats(long floats) {
            long bytes = floats * Float.BYTES;
            if (bytes > capacityBytes) {
                free();
                long wanted = Math.max(4096, bytes + bytes / 4);
                Arena grown = Arena.ofShared();
                MemorySegment segment = grown.allocate(wanted, 64);
                arena = grown;
                address = segment.address();
                capacityBytes = wanted;
                allocations++;
            }
            return address;
        }

        private void free() {
            if (arena != null) {
                arena.close();
                arena = null;
                capacityBytes = 0;
            }
        }
    }
}
