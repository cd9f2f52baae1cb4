package io.millrace.standalone.command;

import io.millrace.engine.quantize.QuantizeProgress;
import java.io.PrintStream;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import me.tongfei.progressbar.ProgressBar;
import me.tongfei.progressbar.ProgressBarBuilder;
import me.tongfei.progressbar.ProgressBarStyle;
import org.jspecify.annotations.Nullable;

/// Shows how quantising goes: on a terminal one bar after the other; elsewhere a line at the start of a
/// phase, then every ten seconds, and at its end.
final class QuantizeBar implements QuantizeProgress, AutoCloseable {
    private static final int REFRESH_MILLIS = 100;
    private static final long LINE_NANOS = TimeUnit.SECONDS.toNanos(10);

    private final boolean terminal;
    private final PrintStream lines;
    private final LongSupplier clock;
    private String phase = "";
    private long reached;
    private long lineNanos;
    private @Nullable ProgressBar bar;

    /// @param terminal  whether a person watches
    /// @param lines     where lines go if not
    /// @param clock     in nanoseconds
    QuantizeBar(boolean terminal, PrintStream lines, LongSupplier clock) {
        this.terminal = terminal;
        this.lines = lines;
        this.clock = clock;
    }

    @Override
    public void advanced(String current, long done, long total) {
        boolean begins = !phase.equals(current) || done < reached;
        boolean ends = done == total && done != reached;
        phase = current;
        reached = done;
        if (terminal) {
            draw(begins, done, total);
        } else if (begins || ends || clock.getAsLong() - lineNanos >= LINE_NANOS) {
            lineNanos = clock.getAsLong();
            lines.println(current + ": " + done + " of " + total);
        }
    }

    private void draw(boolean begins, long done, long total) {
        if (begins) {
            close();
        }
        if (bar == null) {
            bar = new ProgressBarBuilder()
                    .setTaskName(phase)
                    .setInitialMax(total)
                    .setUpdateIntervalMillis(REFRESH_MILLIS)
                    .setStyle(ProgressBarStyle.ASCII)
                    .clearDisplayOnFinish()
                    .build();
        }
        bar.stepTo(done);
    }

    @Override
    public void close() {
        if (bar != null) {
            bar.close();
            bar = null;
        }
    }
}
