package io.millrace.engine.kv;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.HexFormat;

/// Content address of a KvBlock, or a namespace: 32 bytes, here as four big-endian words.
///
/// @param word0  bytes 0 to 7
/// @param word1  bytes 8 to 15
/// @param word2  bytes 16 to 23
/// @param word3  bytes 24 to 31
public record BlockId(long word0, long word1, long word2, long word3) {
    /// Bytes of an id.
    public static final int BYTES = 32;

    private static final VarHandle WORD = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);

    /// The id of these 32 bytes.
    public static BlockId of(byte[] bytes) {
        if (bytes.length != BYTES) {
            throw new IllegalArgumentException("block id: " + bytes.length + " bytes (expected: " + BYTES + ")");
        }
        return new BlockId(word(bytes, 0), word(bytes, 8), word(bytes, 16), word(bytes, 24));
    }

    /// The id of 64 hexadecimal digits.
    public static BlockId fromHex(String hex) {
        return of(HexFormat.of().parseHex(hex));
    }

    /// A new array of its 32 bytes.
    public byte[] bytes() {
        byte[] result = new byte[BYTES];
        WORD.set(result, 0, word0);
        WORD.set(result, 8, word1);
        WORD.set(result, 16, word2);
        WORD.set(result, 24, word3);
        return result;
    }

    /// 64 hexadecimal digits.
    @Override
    public String toString() {
        HexFormat hex = HexFormat.of();
        return hex.toHexDigits(word0) + hex.toHexDigits(word1) + hex.toHexDigits(word2) + hex.toHexDigits(word3);
    }

    private static long word(byte[] bytes, int offset) {
        return (long) WORD.get(bytes, offset);
    }
}
