package io.millrace.kvcache;

import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/// Streams without an end of their own (Hold, Events). When the service goes down they are ended first,
/// so that the
/// server's shutdown waits for puts and fetches only.
final class OpenStreams {
    private final Set<Runnable> enders = ConcurrentHashMap.newKeySet();
    private volatile boolean draining;

    /// Registers how to end a stream; ends it at once if the service is going down.
    void add(Runnable ender) {
        enders.add(ender);
        if (draining) {
            ender.run();
        }
    }

    void remove(Runnable ender) {
        enders.remove(ender);
    }

    void endAll() {
        draining = true;
        for (Runnable ender : List.copyOf(enders)) {
            ender.run();
        }
    }
}
