package io.millrace.kvcache.store;

/// Time for leases: only differences count. A port, so that tests move time by hand.
@FunctionalInterface
public interface MonotonicClock {

    long nanoTime();

    /// The clock of this machine.
    static MonotonicClock system() {
        return System::nanoTime;
    }
}
