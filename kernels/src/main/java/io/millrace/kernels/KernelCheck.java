package io.millrace.kernels;

/// What the self-check at start found of one kernel. Rates are billions of multiply-adds, or of elements where it makes
/// none, per second on one thread; the floor follows from a loop timed in the same run, so that it moves with the
/// machine.
///
/// @param kernel    its name, lower case and hyphens
/// @param measured  the best rate seen
/// @param floor     the rate below which it was not compiled as it should be
/// @param verdict   what follows
public record KernelCheck(String kernel, double measured, double floor, Verdict verdict) {
    /// Outcomes of a check.
    public enum Verdict {
        /// At or above the floor.
        AT_SPEED,
        /// At or above the floor, but only after a second warm-up.
        REWARMED,
        /// Below the floor in spite of it: results are right, but many times too slow.
        BELOW_FLOOR
    }

    /// Measured rate over floor: 1 and more is as it should be.
    public double margin() {
        return measured / floor;
    }

    /// `int8-one-row 12.5 of 3.1`.
    @Override
    public String toString() {
        String text = "%s %.2f of %.2f".formatted(kernel, measured, floor);
        return switch (verdict) {
            case AT_SPEED -> text;
            case REWARMED -> text + " (warmed twice)";
            case BELOW_FLOOR -> text + " (BELOW ITS FLOOR)";
        };
    }
}
