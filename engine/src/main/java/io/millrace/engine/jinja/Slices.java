package io.millrace.engine.jinja;

import java.math.BigInteger;

/// Python's slice arithmetic.
final class Slices {
    private static final BigInteger MAX = BigInteger.valueOf(Integer.MAX_VALUE);

    private Slices() {}

    /// Which items a slice takes: `count` from `start` on, which lies inside if there are any.
    ///
    /// @param stop  the resolved end, for ranges only
    record Bounds(int start, int stop, int count, int step) {}

    /// A slice as written; each bound is null-free: [Value.None] where it is left out.
    record Slice(Value start, Value stop, Value step) {
        /// Whether all bounds are integers or left out.
        boolean isValid() {
            return isBound(start) && isBound(stop) && isBound(step);
        }

        private static boolean isBound(Value value) {
            return value == Value.None.NONE || value instanceof Value.Int || value instanceof Value.Bool;
        }
    }

    static Bounds bounds(Slice slice, int length) {
        int step = slice.step() == Value.None.NONE ? 1 : clamp(slice.step());
        if (step == 0) {
            throw JinjaException.runtime("slice step cannot be zero");
        }
        int low = step < 0 ? -1 : 0;
        int high = step < 0 ? length - 1 : length;
        int start = bound(slice.start(), step < 0 ? high : low, length, low, high);
        int stop = bound(slice.stop(), step < 0 ? low : high, length, low, high);
        long span = step < 0 ? (long) start - stop : (long) stop - start;
        long width = Math.abs((long) step);
        int count = span <= 0 ? 0 : (int) ((span + width - 1) / width);
        return new Bounds(start, stop, count, step);
    }

    private static int bound(Value value, int absent, int length, int low, int high) {
        if (value == Value.None.NONE) {
            return absent;
        }
        long place = clamp(value);
        if (place < 0) {
            place += length;
        }
        return (int) Math.max(low, Math.min(high, place));
    }

    /// An integer as int; beyond its range the nearest.
    static int clamp(Value value) {
        BigInteger number = Numbers.integer(value);
        return number.abs().compareTo(MAX) > 0 ? number.signum() * Integer.MAX_VALUE : number.intValueExact();
    }
}
