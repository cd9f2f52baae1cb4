package io.millrace.kernels.nativecode;

import java.util.ArrayList;
import java.util.List;

/// All buffers of a provider: made once, counted, closed together.
final class Buffers implements AutoCloseable {
    private final List<Buffer> buffers = new ArrayList<>();

    Buffer buffer() {
        Buffer buffer = new Buffer();
        buffers.add(buffer);
        return buffer;
    }

    /// How often any of them has grown.
    long allocations() {
        long sum = 0;
        for (Buffer buffer : buffers) {
            sum += buffer.allocations();
        }
        return sum;
    }

    @Override
    public void close() {
        buffers.forEach(Buffer::close);
    }
}
