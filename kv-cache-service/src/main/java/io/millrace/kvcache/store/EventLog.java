package io.millrace.kvcache.store;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/// The last events, numbered, in a ring.
///
/// Numbers start from the time of the process's start (in units of about a nanosecond), so those of an
/// earlier process
/// are always lower than those of a later one and are never mistaken for its.
///
/// Not thread-safe: [StoreCore] guards it.
final class EventLog {
    private final @Nullable StoreEvent[] ring;
    private final long firstNumber;
    private long nextNumber;

    EventLog(int capacity, long firstNumber) {
        this.ring = new StoreEvent[capacity];
        this.firstNumber = firstNumber;
        this.nextNumber = firstNumber;
    }

    void append(StoreEvent event) {
        ring[slot(nextNumber)] = event;
        nextNumber++;
    }

    /// Number of the newest event.
    long lastNumber() {
        return nextNumber - 1;
    }

    /// Events from a number on, at most `max`; empty if that number is no longer, or not yet, to be had.
    Optional<EventBatch.Continued> from(long number, int max) {
        long oldest = Math.max(firstNumber, nextNumber - ring.length);
        if (number < oldest || number > nextNumber) {
            return Optional.empty();
        }
        List<StoreEvent> batch = new ArrayList<>();
        for (long at = number; at < nextNumber && batch.size() < max; at++) {
            StoreEvent event = ring[slot(at)];
            if (event != null) {
                batch.add(event);
            }
        }
        return Optional.of(new EventBatch.Continued(number, batch));
    }

    private int slot(long number) {
        return (int) (number % ring.length);
    }
}
