package io.millrace.kernels;

/// The block-diagonal Walsh-Hadamard rotation, normalised: within each run of `block` elements,
/// butterflies of distance 1, 2, 4, … in float32 (`a + b`, `a - b`), then times `1 / sqrt(block)`. It
/// is its own inverse. Source: QuaRot, arXiv 2404.00456.
public final class Hadamard {
    private Hadamard() {}

    /// The largest power of two that divides `width`.
    public static int largestBlock(int width) {
        return Integer.lowestOneBit(width);
    }

    /// Checks a block size: a power of two that divides `width`.
    public static void check(int block, int width) {
        if (block < 1 || Integer.bitCount(block) != 1 || width % block != 0) {
            throw new IllegalArgumentException(
                    "rotation block: " + block + " (expected: a power of two that divides " + width + ")");
        }
    }

    /// Factor that makes a rotation of that block size orthogonal.
    public static float factor(int block) {
        return (float) (1 / Math.sqrt(block));
    }

    /// Rotates `x[from, from + count)` in place.
    ///
    /// @param count  a multiple of `block`
    public static void rotate(float[] x, int from, int count, int block) {
        check(block, count);
        float factor = factor(block);
        for (int distance = 1; distance < block; distance *= 2) {
            for (int run = from; run < from + count; run += 2 * distance) {
                for (int i = run; i < run + distance; i++) {
                    float a = x[i];
                    float b = x[i + distance];
                    x[i] = a + b;
                    x[i + distance] = a - b;
                }
            }
        }
        if (block > 1) {
            for (int i = from; i < from + count; i++) {
                x[i] *= factor;
            }
        }
    }
}
