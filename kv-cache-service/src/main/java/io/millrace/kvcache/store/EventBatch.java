package io.millrace.kvcache.store;

import java.util.List;

/// What a reader of events gets next.
public sealed interface EventBatch {

    /// Number from which to read on.
    long nextNumber();

    /// Consecutive events; none if nothing happened.
    ///
    /// @param firstNumber  number of the first event
    record Continued(long firstNumber, List<StoreEvent> events) implements EventBatch {
        public Continued {
            events = List.copyOf(events);
        }

        @Override
        public long nextNumber() {
            return firstNumber + events.size();
        }
    }

    /// All blocks, parents first, as of an event's number: the reader starts over with them.
    record Snapshot(long number, List<StoreEvent.Stored> blocks) implements EventBatch {
        public Snapshot {
            blocks = List.copyOf(blocks);
        }

        @Override
        public long nextNumber() {
            return number + 1;
        }
    }
}
