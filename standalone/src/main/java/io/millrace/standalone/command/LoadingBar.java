package io.millrace.standalone.command;

import io.millrace.engine.model.LoadProgress;
import java.util.Optional;
import me.tongfei.progressbar.ProgressBar;
import me.tongfei.progressbar.ProgressBarBuilder;
import me.tongfei.progressbar.ProgressBarStyle;
import org.jspecify.annotations.Nullable;

/// Shows on a terminal how loading goes; elsewhere nothing.
final class LoadingBar implements LoadProgress, AutoCloseable {
    private static final int REFRESH_MILLIS = 100;

    private final boolean shown;
    private final String task;
    private @Nullable ProgressBar bar;

    LoadingBar(boolean shown) {
        this(shown, "loading");
    }

    /// @param task  what goes on
    LoadingBar(boolean shown, String task) {
        this.shown = shown;
        this.task = task;
    }

    /// Whether a person watches.
    static boolean hasTerminal() {
        return Optional.ofNullable(System.console())
                .filter(java.io.Console::isTerminal)
                .isPresent();
    }

    @Override
    public synchronized void packed(String what, int done, int total) {
        if (!shown) {
            return;
        }
        if (bar == null) {
            bar = new ProgressBarBuilder()
                    .setTaskName(task)
                    .setInitialMax(total)
                    .setUpdateIntervalMillis(REFRESH_MILLIS)
                    .setStyle(ProgressBarStyle.ASCII)
                    .clearDisplayOnFinish()
                    .build();
        }
        bar.stepTo(done).setExtraMessage(what);
    }

    @Override
    public synchronized void close() {
        if (bar != null) {
            bar.close();
            bar = null;
        }
    }
}
