package io.millrace.kernels.pool;

/// Work that is split into numbered chunks. Implementations are long-lived objects whose fields the caller fills before
/// each run; a run allocates nothing.
@FunctionalInterface
public interface PoolTask {
    /// Computes one chunk. Chunks of a run are independent of each other.
    ///
    /// @param chunk   from 0 to the number of chunks of the run, each exactly once
    /// @param worker  number of the executing thread in its pool, 0 is the caller; for thread-local scratch
    void run(int chunk, int worker);
}
