package io.millrace.standalone.command;

import io.millrace.engine.quantize.QuantizeProgress;
import me.tongfei.progressbar.ProgressBar;
import me.tongfei.progressbar.ProgressBarBuilder;
import me.tongfei.progressbar.ProgressBarStyle;
import org.jspecify.annotations.Nullable;

/// Shows on a terminal how quantising goes, one bar after the other; elsewhere nothing.
final class QuantizeBar implements QuantizeProgress, AutoCloseable {
    private static final int REFRESH_MILLIS = 100;

    private final boolean shown;
    private String phase = "";
    private @Nullable ProgressBar bar;

    QuantizeBar(boolean shown) {
        this.shown = shown;
    }

    @Override
    public void advanced(String current, long done, long total) {
        if (!shown) {
            return;
        }
        if (bar == null || !phase.equals(current) || done < bar.getCurrent()) {
            close();
            phase = current;
            bar = new ProgressBarBuilder()
                    .setTaskName(current)
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
