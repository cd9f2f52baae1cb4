package io.millrace.engine.tokenizer;

import java.nio.charset.StandardCharsets;
import java.util.List;

/// How many tokens a text has at least, told from its bytes and without tokenizing it.
///
/// A token of n bytes covers n bytes of the text, and the longest token that holds a byte b has L(b) bytes, so
/// each byte of a token is 1/n ≥ 1/L(b) of it: the sum of 1/L(b) over all bytes of a text is at most the number of
/// its tokens. That needs every byte to end in exactly one token. Bytes of which this is not certain count
/// nothing: those no token stands for alone, those a normalizer may join with others (only ASCII before
/// ASCII stays as it is), white space where an added token may take it along.
final class LeastTokens {
    /// More than what rounding adds to a sum of 256 products.
    private static final double ROUNDING = 1e-12;

    /// What a tokenizer does to text before it looks for tokens.
    enum Spelling {
        /// Nothing: every byte stays.
        KEPT,
        /// It composes or decomposes characters (NFC, NFD).
        COMPOSED,
        /// Nobody knows: no text has a lower bound.
        UNKNOWN
    }

    private final double[] shares = new double[256]; // of a token, by byte
    private final boolean asciiOnly;

    LeastTokens(Vocabulary vocabulary, List<AddedToken> addedTokens, Spelling spelling) {
        asciiOnly = spelling == Spelling.COMPOSED;
        if (spelling == Spelling.UNKNOWN) {
            return;
        }
        int[] longest = new int[256];
        boolean[] alone = new boolean[256];
        for (int id = 0; id < vocabulary.size(); id++) {
            byte[] bytes = vocabulary.bytes(id);
            note(bytes, longest);
            if (!vocabulary.isAdded(id) && ByteAlphabet.isByte(vocabulary.token(id))) {
                alone[bytes[0] & 0xFF] = true;
            }
        }
        boolean stripping = false;
        for (AddedToken token : addedTokens) {
            note(token.content().getBytes(StandardCharsets.UTF_8), longest);
            stripping |= token.stripLeft() || token.stripRight();
        }
        for (int b = 0; b < 256; b++) {
            boolean mayVanish = stripping && (b <= ' ' || b >= 0x80);
            shares[b] = alone[b] && !mayVanish ? 1.0 / longest[b] : 0;
        }
    }

    private static void note(byte[] token, int[] longest) {
        for (byte b : token) {
            longest[b & 0xFF] = Math.max(longest[b & 0xFF], token.length);
        }
    }

    /// At most the number of the text's tokens.
    int of(String text) {
        long[] counts = new long[256];
        int length = text.length();
        int next;
        for (int i = 0; i < length; i = next) {
            int codePoint = text.codePointAt(i);
            next = i + Character.charCount(codePoint);
            if (!asciiOnly || (codePoint < 0x80 && (next == length || text.charAt(next) < 0x80))) {
                count(codePoint, counts);
            }
        }
        double sum = 0;
        for (int b = 0; b < 256; b++) {
            sum += counts[b] * shares[b];
        }
        return (int) Math.ceil(sum * (1 - ROUNDING));
    }

    /// Counts the bytes of a character's UTF-8 form.
    private static void count(int codePoint, long[] counts) {
        if (codePoint < 0x80) {
            counts[codePoint]++;
        } else if (codePoint < 0x800) {
            counts[0xC0 + (codePoint >> 6)]++;
            further(codePoint, counts);
        } else if (codePoint < 0x10000) {
            counts[0xE0 + (codePoint >> 12)]++;
            further(codePoint >> 6, counts);
            further(codePoint, counts);
        } else {
            counts[0xF0 + (codePoint >> 18)]++;
            further(codePoint >> 12, counts);
            further(codePoint >> 6, counts);
            further(codePoint, counts);
        }
    }

    private static void further(int bits, long[] counts) {
        counts[0x80 + (bits & 0x3F)]++;
    }
}
