package io.millrace.engine.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.junit.jupiter.api.Test;

class WideningTest {

    @Test
    void e4m3CodesStandForTheNumbersOfTheStandard() {
        assertThat(Widening.e4m3(0x00)).isEqualTo(0f);
        assertThat(Widening.e4m3(0x01)).isEqualTo(0x1p-9f);
        assertThat(Widening.e4m3(0x07)).isEqualTo(7 * 0x1p-9f);
        assertThat(Widening.e4m3(0x08)).isEqualTo(0x1p-6f);
        assertThat(Widening.e4m3(0x38)).isEqualTo(1f);
        assertThat(Widening.e4m3(0x7e)).isEqualTo(448f);
        assertThat(Widening.e4m3(0xfe)).isEqualTo(-448f);
        assertThat(Widening.e4m3(0x80)).isEqualTo(-0f);
        assertThat(Widening.e4m3(0x7f)).isNaN();
        assertThat(Widening.e4m3(0xff)).isNaN();
        for (int code = 1; code < 0x7f; code++) {
            assertThat(Widening.e4m3(code))
                    .isGreaterThan(Widening.e4m3(code - 1))
                    .isEqualTo(-Widening.e4m3(code | 0x80));
        }
    }

    @Test
    void bf16AndF16WidenExactlyFromAnyAddress() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment raw = arena.allocate(9).asSlice(1);
            short[] bf16 = {(short) 0x3f80, (short) 0xc040, 0x0001, (short) 0x7f80};
            MemorySegment.copy(bf16, 0, raw, ValueLayout.JAVA_SHORT_UNALIGNED, 0, 4);
            MemorySegment wide = arena.allocate(16, 64);
            Widening.widen(TensorType.BF16, raw, 4, wide);
            assertThat(wide.toArray(ValueLayout.JAVA_FLOAT))
                    .containsExactly(1f, -3f, Float.intBitsToFloat(0x10000), Float.POSITIVE_INFINITY);
            short[] f16 = {0x3c00, (short) 0xc200, 0x0001, 0x7bff};
            MemorySegment.copy(f16, 0, raw, ValueLayout.JAVA_SHORT_UNALIGNED, 0, 4);
            Widening.widen(TensorType.F16, raw, 4, wide);
            assertThat(wide.toArray(ValueLayout.JAVA_FLOAT)).containsExactly(1f, -3f, 0x1p-24f, 65504f);
        }
    }
}
