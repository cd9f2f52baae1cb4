package io.millrace.engine.tokenizer;

import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/// Every id's token. Ids in between that no token has decode to nothing, as in Hugging Face's tokenizers.
final class Vocabulary {
    private static final byte[] NO_BYTES = {};

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

    /// Spelling in the vocabulary; empty for an id without a token.
    String token(int id) {
        checkId(id);
        String token = tokens[id];
        return token == null ? "" : token;
    }

    /// Borrowed; not to be changed.
    byte[] bytes(int id) {
        return bytes[id];
    }

    boolean isAdded(int id) {
        return added.get(id);
    }

    boolean isSpecial(int id) {
        return special.get(id);
    }
}
