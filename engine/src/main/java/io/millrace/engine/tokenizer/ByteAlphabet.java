package io.millrace.engine.tokenizer;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/// The byte-level alphabet of BPE vocabularies: every byte has one visible character. Printable Latin-1
/// bytes stand for themselves, the other 68 for U+0100 and up, in byte order (GPT-2, `bytes_to_unicode`).
final class ByteAlphabet {
    private static final int FIRST_SUBSTITUTE = 0x100;
    private static final short[] BYTE_OF_CHAR = byteOfChar();

    private ByteAlphabet() {}

    /// Bytes a token stands for. A token with a character outside the alphabet stands for its own UTF-8
    /// bytes, as in the Hugging Face decoder.
    static byte[] bytesOf(String token) {
        byte[] bytes = new byte[token.length()];
        for (int i = 0; i < bytes.length; i++) {
            char c = token.charAt(i);
            if (c >= BYTE_OF_CHAR.length || BYTE_OF_CHAR[c] < 0) {
                return token.getBytes(StandardCharsets.UTF_8);
            }
            bytes[i] = (byte) BYTE_OF_CHAR[c];
        }
        return bytes;
    }

    /// Whether the token is the character of one byte.
    static boolean isByte(String token) {
        return token.length() == 1 && token.charAt(0) < BYTE_OF_CHAR.length && BYTE_OF_CHAR[token.charAt(0)] >= 0;
    }

    private static boolean standsForItself(int b) {
        return (b >= '!' && b <= '~') || (b >= 0xA1 && b <= 0xAC) || (b >= 0xAE && b <= 0xFF);
    }

    private static short[] byteOfChar() {
        short[] table = new short[FIRST_SUBSTITUTE + 68];
        Arrays.fill(table, (short) -1);
        int substitute = FIRST_SUBSTITUTE;
        for (int b = 0; b < 256; b++) {
            table[standsForItself(b) ? b : substitute++] = (short) b;
        }
        return table;
    }
}
