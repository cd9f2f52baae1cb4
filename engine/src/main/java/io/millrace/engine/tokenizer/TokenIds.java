package io.millrace.engine.tokenizer;

import java.util.Arrays;

/// A growing list of ids without boxing.
final class TokenIds {
    private int[] ids = new int[64];
    private int count;

    void add(int id) {
        reserve(1);
        ids[count++] = id;
    }

    void addAll(long[] more) {
        reserve(more.length);
        for (long id : more) {
            ids[count++] = Math.toIntExact(id);
        }
    }

    int[] toArray() {
        return Arrays.copyOf(ids, count);
    }

    private void reserve(int more) {
        if (count + more > ids.length) {
            ids = Arrays.copyOf(ids, Math.max(count + more, ids.length * 2));
        }
    }
}
