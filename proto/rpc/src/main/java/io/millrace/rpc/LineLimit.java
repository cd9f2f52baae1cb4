package io.millrace.rpc;

import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;
import java.util.function.LongConsumer;
import java.util.function.LongSupplier;

/// How many lines of one kind a log gets in a minute, so that a flood of what they tell fills no disk. Those that went
/// without a line are counted, and told with the first one of a later minute. Thread-safe.
public final class LineLimit {
    private final int linesAMinute;
    private final LongSupplier nanos;
    private long minute = Long.MIN_VALUE;
    private int lines;
    private long unsaid;

    /// @param nanos  a clock that never goes back
    public LineLimit(int linesAMinute, LongSupplier nanos) {
        if (linesAMinute < 1) {
            throw new IllegalArgumentException("linesAMinute: " + linesAMinute + " (expected: at least 1)");
        }
        this.linesAMinute = linesAMinute;
        this.nanos = nanos;
    }

    /// Writes a line, if it has one.
    ///
    /// @param unsaid  told before it how many went without one, if any did
    public void tell(LongConsumer unsaid, Runnable line) {
        tryLine().ifPresent(untold -> {
            if (untold > 0) {
                unsaid.accept(untold);
            }
            line.run();
        });
    }

    /// Asks for a line.
    ///
    /// @return how many went without one and are yet to be told; empty if this one goes without
    synchronized OptionalLong tryLine() {
        long now = Math.floorDiv(nanos.getAsLong(), TimeUnit.MINUTES.toNanos(1));
        if (now != minute) {
            minute = now;
            lines = 0;
        }
        if (lines == linesAMinute) {
            unsaid++;
            return OptionalLong.empty();
        }
        lines++;
        long told = unsaid;
        unsaid = 0;
        return OptionalLong.of(told);
    }
}
