package io.millrace.kernels.nativecode;

import io.millrace.kernels.pool.KernelPool;
import io.millrace.kernels.pool.PoolTask;
import java.lang.foreign.MemorySegment;

/// A C function that computes chunks of a call.
final class Phase implements PoolTask {
    private final MemorySegment function;
    private final boolean takesLong;
    private long call;

    /// @param name       of the C function, without prefix and level
    /// @param takesLong  whether a chunk may take more than about a millisecond
    Phase(NativeLibrary library, String name, boolean takesLong) {
        this.function = library.function(name);
        this.takesLong = takesLong;
    }

    /// Runs all chunks over the pool.
    void run(KernelPool pool, CallBlock block, int chunks) {
        call = block.address();
        if (chunks == 1) {
            run(0, 0);
        } else {
            pool.run(this, chunks);
        }
    }

    /// Runs one chunk on the caller.
    void runHere(CallBlock block, int chunk) {
        NativeLibrary.run(function, takesLong, block.address(), chunk, 0);
    }

    @Override
    public void run(int chunk, int worker) {
        NativeLibrary.run(function, takesLong, call, chunk, worker);
    }
}
