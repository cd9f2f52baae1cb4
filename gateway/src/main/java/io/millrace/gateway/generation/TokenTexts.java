package io.millrace.gateway.generation;

import io.millrace.engine.tokenizer.Tokenizer;
import io.millrace.gateway.generation.ReplyEvent.TokenText;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/// Texts of single tokens, for log-probabilities.
record TokenTexts(Tokenizer tokenizer) {
    TokenText of(int id) {
        byte[] bytes = tokenizer.bytes(id);
        List<Integer> values = new ArrayList<>(bytes.length);
        for (byte value : bytes) {
            values.add(Byte.toUnsignedInt(value));
        }
        return new TokenText(new String(bytes, StandardCharsets.UTF_8), values);
    }
}
