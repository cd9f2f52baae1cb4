package io.millrace.engine.sampling;

/// `e^x` for x ≤ 0 from additions and multiplications alone, so that every JVM and every compiler tier
/// gives the same bits (`Math.exp` may differ between the interpreter and compiled code), and several
/// times faster than `StrictMath`. Relative error below 1e-15.
final class StableExp {
    /// Below this the result counts as 0.
    static final double SMALLEST = -700;

    private static final double INVERSE_LN2 = 1.4426950408889634;
    // ln 2 in two parts: the product of the first with any integer below 2^11 is exact.
    private static final double LN2_HIGH = 0x1.62e42feep-1;
    private static final double LN2_LOW = 0x1.a39ef35793c76p-33;

    private StableExp() {}

    /// @param x  at most 0; not NaN
    static double exp(double x) {
        if (x < SMALLEST) {
            return 0;
        }
        double k = Math.rint(x * INVERSE_LN2);
        double r = (x - k * LN2_HIGH) - k * LN2_LOW;
        // Taylor's series up to r^13 / 13!, |r| ≤ ln 2 / 2.
        double p = 1.0 / 6227020800L;
        p = p * r + 1.0 / 479001600;
        p = p * r + 1.0 / 39916800;
        p = p * r + 1.0 / 3628800;
        p = p * r + 1.0 / 362880;
        p = p * r + 1.0 / 40320;
        p = p * r + 1.0 / 5040;
        p = p * r + 1.0 / 720;
        p = p * r + 1.0 / 120;
        p = p * r + 1.0 / 24;
        p = p * r + 1.0 / 6;
        p = p * r + 0.5;
        p = p * r + 1;
        p = p * r + 1;
        return p * Double.longBitsToDouble(((long) k + 1023) << 52);
    }
}
