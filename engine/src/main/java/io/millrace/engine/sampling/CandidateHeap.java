package io.millrace.engine.sampling;

/// Token ids that leave in the order logit descending, then id ascending. Filling is linear, so drawing
/// the few best of a large vocabulary costs little. Drawn ids gather, in order, at the end of the same
/// array.
final class CandidateHeap {
    private final int[] ids;
    private float[] logits = {};
    private int size;
    private int filled;

    CandidateHeap(int capacity) {
        ids = new int[capacity];
    }

    /// Empties the heap for new logits, which are borrowed until the next reset.
    void reset(float[] logits) {
        this.logits = logits;
        size = 0;
        filled = 0;
    }

    /// Appends without order; [#build] comes before the first [#draw].
    void append(int id) {
        ids[size++] = id;
        filled = size;
    }

    void build() {
        for (int i = size / 2 - 1; i >= 0; i--) {
            siftDown(i);
        }
    }

    int size() {
        return size;
    }

    /// Takes the best id out.
    int draw() {
        int best = ids[0];
        ids[0] = ids[--size];
        siftDown(0);
        ids[size] = best;
        return best;
    }

    /// The id of the given rank among those drawn, 0 for the first.
    int drawn(int rank) {
        return ids[filled - 1 - rank];
    }

    private void siftDown(int start) {
        int place = start;
        while (true) {
            int child = 2 * place + 1;
            if (child >= size) {
                return;
            }
            if (child + 1 < size && before(ids[child + 1], ids[child])) {
                child++;
            }
            if (before(ids[place], ids[child])) {
                return;
            }
            int id = ids[place];
            ids[place] = ids[child];
            ids[child] = id;
            place = child;
        }
    }

    private boolean before(int a, int b) {
        return logits[a] > logits[b] || (logits[a] == logits[b] && a < b);
    }
}
