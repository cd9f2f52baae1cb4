package io.millrace.kernels.vector;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.kernels.Bfloat16;
import io.millrace.kernels.Floats;
import io.millrace.kernels.RopeStyle;
import io.millrace.kernels.SeededRandom;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class RowMathTest {
    private static final int[] SIZES = {2, 6, 14, 16, 32, 34, 64, 126, 128};

    private final SeededRandom random = SeededRandom.of("RowMathTest");

    /// Products, sums and differences are rounded one by one, in lanes and without.
    @ParameterizedTest
    @EnumSource
    void rotatesToTheBitAsTheFormulaDoes(RopeStyle style) {
        for (int dim : SIZES) {
            int half = dim / 2;
            MemorySegment x = random.floats(dim, 3);
            MemorySegment cos = random.floats(half, 1);
            MemorySegment sin = random.floats(half, 1);
            MemorySegment expected = Floats.copy(x);
            for (int i = 0; i < half; i++) {
                int first = style == RopeStyle.INTERLEAVED ? 2 * i : i;
                int second = style == RopeStyle.INTERLEAVED ? 2 * i + 1 : i + half;
                float a = x.getAtIndex(ValueLayout.JAVA_FLOAT, first);
                float b = x.getAtIndex(ValueLayout.JAVA_FLOAT, second);
                float c = cos.getAtIndex(ValueLayout.JAVA_FLOAT, i);
                float s = sin.getAtIndex(ValueLayout.JAVA_FLOAT, i);
                expected.setAtIndex(ValueLayout.JAVA_FLOAT, first, a * c - b * s);
                expected.setAtIndex(ValueLayout.JAVA_FLOAT, second, b * c + a * s);
            }
            RowMath.rotate(x.address(), style, dim, cos.address(), sin.address());
            Floats.assertSameBits(x, expected);
        }
    }

    @Test
    void roundsToBfloat16AsOneElementAtATime() {
        int[] bits = {
            0, 0x80000000, 0x3f800000, 0x3f808000, 0x3f818000, 0x3f808001, 0xbf808000, 0x7f7fffff, 0x7f800000,
            0xff800000, 0x7f800001, 0xff800001, 0x7fc00000, 0x7fffffff, 0xffffffff, 1, 0x807fffff, 0x00008000
        };
        for (int count : new int[] {1, 15, 16, 18, 33, 70}) {
            MemorySegment x = random.floats(count, 100);
            for (int i = 0; i < Math.min(count, bits.length); i++) {
                x.setAtIndex(ValueLayout.JAVA_INT, i, bits[i]);
            }
            MemorySegment to = Floats.zeros(count);
            RowMath.writeBfloat16(x.address(), count, to.address());
            for (int i = 0; i < count; i++) {
                short expected = Bfloat16.round(Float.intBitsToFloat(x.getAtIndex(ValueLayout.JAVA_INT, i)));
                assertThat(to.getAtIndex(ValueLayout.JAVA_SHORT, i)).isEqualTo(expected);
            }
        }
    }

    @Test
    void clearsWholeVectorsAndTheRest() {
        for (int count : new int[] {0, 1, 15, 16, 17, 47}) {
            MemorySegment x = random.floats(count + 1, 1);
            float behind = x.getAtIndex(ValueLayout.JAVA_FLOAT, count);
            Lanes.clear(x.address(), count * 4L);
            for (int i = 0; i < count; i++) {
                assertThat(x.getAtIndex(ValueLayout.JAVA_FLOAT, i)).isZero();
            }
            assertThat(x.getAtIndex(ValueLayout.JAVA_FLOAT, count)).isEqualTo(behind);
        }
    }
}
