package io.millrace.engine.tokenizer;

/// Turns bytes into text as they come: a character appears when its last byte is there. A byte sequence
/// that cannot become a character gives one U+FFFD per maximal subpart (Unicode 3.9, "substitution of
/// maximal subparts"), as Rust's and so Hugging Face's lossy decoding does; a surrogate spelled in UTF-8
/// is three of them.
final class Utf8Assembler {
    private static final char REPLACEMENT = '\uFFFD';

    private final StringBuilder ready = new StringBuilder();
    private int codePoint;
    private int missingBytes;
    private int heldBytes;
    // Bounds of the next continuation byte; narrower than 80..BF after E0, ED, F0 and F4.
    private int low = 0x80;
    private int high = 0xBF;

    void append(byte[] bytes) {
        for (byte b : bytes) {
            append(b & 0xFF);
        }
    }

    /// Text that became complete since the last call.
    String take() {
        String text = ready.toString();
        ready.setLength(0);
        return text;
    }

    /// Whether an unfinished character waits for more bytes.
    boolean isMidCharacter() {
        return heldBytes > 0;
    }

    /// Ends the input: an unfinished character becomes U+FFFD.
    String flush() {
        if (heldBytes > 0) {
            ready.append(REPLACEMENT);
            heldBytes = 0;
            missingBytes = 0;
        }
        return take();
    }

    private void append(int b) {
        if (heldBytes > 0) {
            if (b >= low && b <= high) {
                continueWith(b);
                return;
            }
            ready.append(REPLACEMENT);
            heldBytes = 0;
        }
        start(b);
    }

    private void continueWith(int b) {
        codePoint = (codePoint << 6) | (b & 0x3F);
        low = 0x80;
        high = 0xBF;
        heldBytes++;
        if (--missingBytes == 0) {
            ready.appendCodePoint(codePoint);
            heldBytes = 0;
        }
    }

    private void start(int b) {
        if (b < 0x80) {
            ready.append((char) b);
        } else if (b < 0xC2 || b > 0xF4) {
            ready.append(REPLACEMENT);
        } else {
            heldBytes = 1;
            missingBytes = b < 0xE0 ? 1 : b < 0xF0 ? 2 : 3;
            codePoint = b & (0x3F >> missingBytes);
            low = b == 0xE0 ? 0xA0 : b == 0xF0 ? 0x90 : 0x80;
            high = b == 0xED ? 0x9F : b == 0xF4 ? 0x8F : 0xBF;
        }
    }
}
