package io.millrace.startup.arrival;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/// The requests of one port whose bodies are under way.
public final class Arrivals {
    /// For the bodies of requests that come once it is closed: they are refused, but most clients look for the answer
    /// only after they have sent everything.
    private static final Duration LAST_BODIES = Duration.ofSeconds(2);

    private final Set<TimedInput> open = new HashSet<>();
    private boolean closed;

    synchronized void enter(TimedInput input) {
        open.add(input);
        if (closed) {
            input.endWithin(LAST_BODIES);
        }
    }

    synchronized void leave(TimedInput input) {
        open.remove(input);
    }

    /// Ends the bodies that have not arrived, as if their clients had sent no more: nobody is to wait for them who is
    /// about to end. What whole requests ask for goes on.
    public void close() {
        List<TimedInput> left;
        synchronized (this) {
            closed = true;
            left = new ArrayList<>(open);
        }
        left.forEach(TimedInput::cut);
    }
}
