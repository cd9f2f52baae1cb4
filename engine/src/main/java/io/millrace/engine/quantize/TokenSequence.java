package io.millrace.engine.quantize;

import java.util.Arrays;

/// Tokens of a text, and which of them count when their loss is measured. The first never counts:
/// nothing precedes it.
public final class TokenSequence {
    private final int[] ids;
    private final boolean[] counted;

    /// All tokens count.
    public TokenSequence(int[] ids) {
        this(ids, allOf(ids.length));
    }

    /// @param ids      at least one
    /// @param counted  one per token
    public TokenSequence(int[] ids, boolean[] counted) {
        if (ids.length < 1 || counted.length != ids.length) {
            throw new IllegalArgumentException("sequence of " + ids.length + " tokens with " + counted.length
                    + " marks (expected: at least one token, a mark for each)");
        }
        this.ids = ids.clone();
        this.counted = counted.clone();
        this.counted[0] = false;
    }

    private static boolean[] allOf(int count) {
        boolean[] all = new boolean[count];
        Arrays.fill(all, true);
        return all;
    }

    /// Some of its tokens; nothing precedes the first.
    TokenSequence part(int from, int to) {
        return new TokenSequence(Arrays.copyOfRange(ids, from, to), Arrays.copyOfRange(counted, from, to));
    }

    int length() {
        return ids.length;
    }

    int id(int position) {
        return ids[position];
    }

    boolean isCounted(int position) {
        return counted[position];
    }
}
