package io.millrace.engine.tokenizer;

import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/// Every id's token. Ids in between that no token has decode to nothing, as in Hugging Face's tokenizers.
/// Ids beyond the last token are the padding rows of a model whose embedding is larger than its
/// vocabulary: a model may sample one, so each decodes to U+FFFD.
final class Vocabulary {
    private static final byte[] NO_BYTES = {};
    private static final byte[] REPLACEMENT = {(byte) 0xEF, (byte) 0xBF, (byte) 0xBD};

    private final @Nullable String[] tokens;
    private final byte[][] bytes;
    private final BitSet special = new BitSet();
    private final BitSet added = new BitSet();

    /// @param size  one more than the largest id of both
    Vocabulary(int size, Map<String, Integer> modelTokens, List<AddedToken> addedTokens) {
        tokens = new String[size];
        bytes = new byte[size][];
        Arrays.fill(bytes, NO_BYTES);
        modelTokens.forEach((token, id) -> put(id, token));
        for (AddedToken token : addedTokens) {
            put(token.id(), token.content());
            added.set(token.id());
            special.set(token.id(), token.special());
        }
    }

    private void put(int id, String token) {
        tokens[id] = token;
        bytes[id] = ByteAlphabet.bytesOf(token);
    }

    int size() {
        return tokens.length;
    }

    void checkId(int id) {
        if (id < 0 || id >= tokens.length) {
            throw new MillraceException(
                    ErrorCode.INVALID_REQUEST, "token id: " + id + " (expected: 0.." + (tokens.length - 1) + ")");
        }
    }

    /// As [#checkId] for decoding, where an id may lie beyond the vocabulary.
    void checkDecodable(int id) {
        if (id < 0) {
            throw new MillraceException(ErrorCode.INVALID_REQUEST, "token id: " + id + " (expected: 0 or more)");
        }
    }

    /// Spelling in the vocabulary; empty for an id without a token.
    String token(int id) {
        checkId(id);
        String token = tokens[id];
        return token == null ? "" : token;
    }

    /// Those of U+FFFD beyond the vocabulary. Borrowed; not to be changed.
    byte[] bytes(int id) {
        return id < bytes.length ? bytes[id] : REPLACEMENT;
    }

    boolean isAdded(int id) {
        return added.get(id);
    }

    boolean isSpecial(int id) {
        return special.get(id);
    }
}
