package io.millrace.gateway.generation;

import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.proto.v1.Tokens;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/// The generated tokens of one choice so far. Positions count from 0: what is here already is dropped,
/// so that a
/// resumed
/// stream repeats nothing; a gap is an error.
final class TokenCursor {
    private final List<Integer> ids = new ArrayList<>();

    /// How many leading tokens of an event are known already; the rest is taken over.
    int accept(Tokens tokens) {
        int first = tokens.getFirstPosition();
        if (first < 0 || first > ids.size()) {
            throw new MillraceException(
                    ErrorCode.DECODE_FAILED,
                    "decode-service left a gap: position " + first + " (expected: at most " + ids.size() + ")");
        }
        int known = Math.min(ids.size() - first, tokens.getIdsCount());
        for (int i = 0; i < known; i++) {
            if (ids.get(first + i) != tokens.getIds(i)) {
                throw new MillraceException(
                        ErrorCode.DECODE_FAILED,
                        "decode-service changed the token at position " + (first + i) + " (expected: the same again)");
            }
        }
        ids.addAll(tokens.getIdsList().subList(known, tokens.getIdsCount()));
        return known;
    }

    int count() {
        return ids.size();
    }

    List<Integer> ids() {
        return Collections.unmodifiableList(ids);
    }
}
