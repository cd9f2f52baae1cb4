package io.millrace.engine.quantize;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/// A searched scale never makes the expected error of a row or group larger; in int4 it is most often
/// smaller.
class ScaleSearchTest {
    private static final int ROWS = 200;
    private static final int WIDTH = 96;
    private static final int GROUP = 32;

    private final Random random = new Random(20261130);

    @Test
    void noRowOfInt8IsWorse() {
        better(false, false);
        assertThat(better(false, true)).isPositive();
    }

    @Test
    void noGroupOfInt4IsWorse() {
        assertThat(better(true, false)).isGreaterThan(ROWS / 2);
        assertThat(better(true, true)).isGreaterThan(ROWS / 2);
    }

    /// How many rows are better; that none is worse is asserted.
    private int better(boolean int4, boolean known) {
        int better = 0;
        for (int i = 0; i < ROWS; i++) {
            float[] row = new float[WIDTH];
            float[] moments = new float[WIDTH];
            for (int k = 0; k < WIDTH; k++) {
                row[k] = (float) random.nextGaussian();
                moments[k] = (float) Math.exp(2 * random.nextGaussian());
            }
            double with = error(true, int4, row, known ? moments : null);
            double without = error(false, int4, row, known ? moments : null);
            assertThat(with).isLessThanOrEqualTo(without);
            better += with < without ? 1 : 0;
        }
        return better;
    }

    private static double error(boolean search, boolean int4, float[] row, float @Nullable [] moments) {
        ScaleSearch scales = new ScaleSearch(search);
        byte[] codes = new byte[WIDTH];
        double error = 0;
        int run = int4 ? GROUP : WIDTH;
        for (int from = 0; from < WIDTH; from += run) {
            float scale = int4 ? scales.int4(row, from, from + run, moments, codes) : scales.int8(row, moments, codes);
            for (int k = from; k < from + run; k++) {
                double off = row[k] - codes[k] * scale;
                error += off * off * (moments == null ? 1 : moments[k]);
            }
        }
        return error;
    }
}
