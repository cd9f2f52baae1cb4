package io.millrace.kernels;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class Bfloat16Test {
    @Test
    void roundsToNearestAndTiesToEven() {
        assertThat(round(0x3f808000)).isEqualTo(0x3f80);
        assertThat(round(0x3f818000)).isEqualTo(0x3f82);
        assertThat(round(0x3f808001)).isEqualTo(0x3f81);
        assertThat(round(0x3f807fff)).isEqualTo(0x3f80);
        assertThat(round(0xbf818000)).isEqualTo(0xbf82);
    }

    @Test
    void keepsInfinitiesZerosAndNaN() {
        assertThat(round(Float.floatToRawIntBits(Float.POSITIVE_INFINITY))).isEqualTo(0x7f80);
        assertThat(round(Float.floatToRawIntBits(-0.0f))).isEqualTo(0x8000);
        assertThat(round(Float.floatToRawIntBits(Float.MAX_VALUE))).isEqualTo(0x7f80);
        assertThat(Bfloat16.widen(Bfloat16.round(Float.intBitsToFloat(0x7f800001))))
                .isNaN();
    }

    @Test
    void widensEveryPatternExactly() {
        for (int bits = 0; bits <= 0xffff; bits++) {
            float value = Bfloat16.widen((short) bits);
            if (!Float.isNaN(value)) {
                assertThat(Bfloat16.round(value)).isEqualTo((short) bits);
            }
        }
    }

    private static int round(int floatBits) {
        return Bfloat16.round(Float.intBitsToFloat(floatBits)) & 0xffff;
    }
}
