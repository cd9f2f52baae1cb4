package io.millrace.engine.kv;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/// Lengths of all remainders to eight bytes, a broken number at each place, and one just outside.
class FiniteBytesTest {
    private static final int BEFORE = 3;
    private static final short[] FINITE_BF16 = {0, (short) 0x8000, 0x7f7f, (short) 0xff7f, 0x3f80, 1};
    private static final short[] BROKEN_BF16 = {0x7f80, (short) 0xff80, 0x7fc0, (short) 0xffff};
    private static final int[] FINITE = {0, 0x8000_0000, 0x7f7f_ffff, 0xff7f_ffff, 0x3f80_0000, 1};
    private static final int[] BROKEN = {0x7f80_0000, 0xff80_0000, 0x7f80_0001, 0xffff_ffff};

    private static byte[] floats(int... bits) {
        ByteBuffer bytes =
                ByteBuffer.allocate(BEFORE + bits.length * Float.BYTES).order(ByteOrder.LITTLE_ENDIAN);
        bytes.position(BEFORE);
        Arrays.stream(bits).forEach(bytes::putInt);
        return bytes.array();
    }

    private static byte[] bfloat16s(short... bits) {
        ByteBuffer bytes =
                ByteBuffer.allocate(BEFORE + bits.length * Short.BYTES).order(ByteOrder.LITTLE_ENDIAN);
        bytes.position(BEFORE);
        for (short number : bits) {
            bytes.putShort(number);
        }
        return bytes.array();
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2, 3, 4, 5})
    void floatsAreSeenAtEveryPlace(int count) {
        int[] bits = new int[count + 1];
        for (int i = 0; i < count; i++) {
            bits[i] = FINITE[i % FINITE.length];
        }
        bits[count] = BROKEN[0];
        int end = BEFORE + count * Float.BYTES;
        assertThat(FiniteBytes.ofFloats(floats(bits), BEFORE, end)).isTrue();
        for (int place = 0; place < count; place++) {
            for (int broken : BROKEN) {
                int[] changed = bits.clone();
                changed[place] = broken;
                assertThat(FiniteBytes.ofFloats(floats(changed), BEFORE, end))
                        .as("%x at %d of %d", broken, place, count)
                        .isFalse();
            }
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9})
    void bfloat16sAreSeenAtEveryPlace(int count) {
        short[] bits = new short[count + 1];
        for (int i = 0; i < count; i++) {
            bits[i] = FINITE_BF16[i % FINITE_BF16.length];
        }
        bits[count] = BROKEN_BF16[0];
        int end = BEFORE + count * Short.BYTES;
        assertThat(FiniteBytes.ofBfloat16s(bfloat16s(bits), BEFORE, end)).isTrue();
        for (int place = 0; place < count; place++) {
            for (short broken : BROKEN_BF16) {
                short[] changed = bits.clone();
                changed[place] = broken;
                assertThat(FiniteBytes.ofBfloat16s(bfloat16s(changed), BEFORE, end))
                        .as("%x at %d of %d", broken, place, count)
                        .isFalse();
            }
        }
    }
}
