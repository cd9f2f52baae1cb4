package io.millrace.engine.model;

import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/// Lets the engine loops of one JVM step one at a time, as they share the kernels and the cores. Decode
/// goes before prefill; a waiting prefill loop gets its turn after at most [#DECODE_TURNS] decode steps
/// in a row. Among loops of one priority the longest waiting goes first.
public final class StepGate {
    /// Most decode steps in a row while a prefill loop waits.
    static final int DECODE_TURNS = 4;

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition decodeMayEnter = lock.newCondition();
    private final Condition prefillMayEnter = lock.newCondition();
    private final Turn turn = new Turn();
    private boolean busy;
    private int decodeWaiting;
    private int prefillWaiting;
    private int decodeTurns;

    /// The right to step; given back by [#close()].
    public final class Turn implements AutoCloseable {
        private Turn() {}

        @Override
        public void close() {
            leave();
        }
    }

    /// Waits for a turn. The wait is bounded by the steps of the other loops and is not interruptible.
    public Turn enter(StepPriority priority) {
        lock.lock();
        try {
            switch (priority) {
                case DECODE -> {
                    decodeWaiting++;
                    while (busy || (prefillWaiting > 0 && decodeTurns >= DECODE_TURNS)) {
                        decodeMayEnter.awaitUninterruptibly();
                    }
                    decodeWaiting--;
                    decodeTurns = prefillWaiting > 0 ? decodeTurns + 1 : 0;
                }
                case PREFILL -> {
                    prefillWaiting++;
                    while (busy || (decodeWaiting > 0 && decodeTurns < DECODE_TURNS)) {
                        prefillMayEnter.awaitUninterruptibly();
                    }
                    prefillWaiting--;
                    decodeTurns = 0;
                }
            }
            busy = true;
            return turn;
        } finally {
            lock.unlock();
        }
    }

    private void leave() {
        lock.lock();
        try {
            if (!busy) {
                throw new IllegalStateException("no turn is taken (expected: one close of each turn)");
            }
            busy = false;
            boolean prefillIsDue = prefillWaiting > 0 && decodeTurns >= DECODE_TURNS;
            if (decodeWaiting > 0 && !prefillIsDue) {
                decodeMayEnter.signal();
            } else if (prefillWaiting > 0) {
                prefillMayEnter.signal();
            }
        } finally {
            lock.unlock();
        }
    }
}
