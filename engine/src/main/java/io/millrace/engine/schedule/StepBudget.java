package io.millrace.engine.schedule;

import java.util.concurrent.TimeUnit;

/// How much a step may compute so that it takes about the time wished for. Belongs to the loop thread.
///
/// Work is counted in *units*: a row costs one, and one more for each [#DEPTH] tokens it can attend to, as
/// projections cost the same everywhere and attention grows with the depth. What a unit takes is measured
/// step by step, so the budget follows the model, the machine and its other load. Results do not depend on
/// how a prompt is cut, so neither do they on the clock.
///
/// A step costs something however few its rows are: weights are read once a step. So prompts always get
/// [#MIN_ROWS] rows together, even where that takes longer, and steps of fewer rows are not measured.
final class StepBudget {
    /// Rows that prompts get whatever they take: enough to make good use of the weights read for them.
    static final int MIN_ROWS = 32;
    /// Tokens a row attends to that cost as much as the rest of it.
    static final int DEPTH = 1024;
    /// Before the first measurement.
    private static final int FIRST_UNITS = 64;
    /// Of a new measurement in the average.
    private static final double NEW = 0.5;

    private final double targetNanos;
    private double nanosPerUnit;

    StepBudget(int targetMillis) {
        this.targetNanos = TimeUnit.MILLISECONDS.toNanos(targetMillis);
    }

    /// Units of consecutive rows of a sequence, the first of which has so many tokens before it.
    static double units(int firstToken, int rows) {
        return rows * (1 + (firstToken + rows / 2.0) / DEPTH);
    }

    /// Rows from there on that make up the units; at least 0.
    static int rows(double units, int firstToken) {
        // units = rows * (1 + firstToken / DEPTH) + rows² / (2 * DEPTH), solved for rows
        double first = 1 + (double) firstToken / DEPTH;
        double rows = DEPTH * (Math.sqrt(first * first + 2 * Math.max(0, units) / DEPTH) - first);
        return (int) Math.min(Integer.MAX_VALUE, rows);
    }

    /// Units of the next step.
    double units() {
        return nanosPerUnit == 0 ? FIRST_UNITS : targetNanos / nanosPerUnit;
    }

    /// A step took so long.
    ///
    /// @param rows   of all sequences
    /// @param units  of those rows
    void took(int rows, double units, long nanos) {
        if (rows < MIN_ROWS || nanos <= 0) {
            return;
        }
        double measured = nanos / units;
        nanosPerUnit = nanosPerUnit == 0 ? measured : nanosPerUnit + NEW * (measured - nanosPerUnit);
    }
}
