package io.millrace.kernels.vector;

import java.util.Arrays;

/// The best scores of one row: by score descending, then by slot ascending, in time linear in the number of scores.
/// A radix selection finds the key of the last chosen score byte by byte; a last pass collects in ascending order.
/// NaN ranks as minus infinity, both zeros are equal. One instance per worker.
final class TopSlots {
    private final int[] histogram = new int[256];
    private int[] keys = new int[0];
    private int[] slots = new int[0];

    /// The chosen slots of the last call.
    int[] slots() {
        return slots;
    }

    /// Chooses `count` of `total` scores, `count <= total`.
    ///
    /// @param scores     address of the scores
    /// @param total      number of scores
    /// @param count      how many to choose
    /// @param firstSlot  slot of the first score
    void choose(long scores, int total, int count, int firstSlot) {
        if (keys.length < total) {
            keys = new int[total + total / 4];
        }
        if (slots.length < count) {
            slots = new int[count];
        }
        int[] k = keys;
        for (int i = 0; i < total; i++) {
            k[i] = key(Lanes.get(scores + i * 4L));
        }
        int threshold = 0;
        int wanted = count;
        for (int shift = 24; shift >= 0; shift -= 8) {
            int prefix = shift == 24 ? 0 : -1 << (shift + 8);
            int digit = digit(k, total, threshold, prefix, shift, wanted);
            wanted -= above(digit);
            threshold |= digit << shift;
        }
        int chosen = 0;
        for (int i = 0; i < total && chosen < count; i++) {
            int order = Integer.compareUnsigned(k[i], threshold);
            if (order > 0 || (order == 0 && wanted-- > 0)) {
                slots[chosen++] = firstSlot + i;
            }
        }
    }

    /// A key whose unsigned order is the order of the scores.
    private static int key(float score) {
        float ranked = Float.isNaN(score) ? Float.NEGATIVE_INFINITY : score + 0f;
        int bits = Float.floatToRawIntBits(ranked);
        return bits < 0 ? ~bits : bits | 0x80000000;
    }

    /// The byte at `shift` of the wanted-th largest key among those that share the threshold's upper bytes.
    private int digit(int[] k, int total, int threshold, int prefix, int shift, int wanted) {
        int[] h = histogram;
        Arrays.fill(h, 0);
        for (int i = 0; i < total; i++) {
            if ((k[i] & prefix) == threshold) {
                h[(k[i] >>> shift) & 0xff]++;
            }
        }
        int left = wanted;
        for (int d = 255; d > 0; d--) {
            if (h[d] >= left) {
                return d;
            }
            left -= h[d];
        }
        return 0;
    }

    private int above(int digit) {
        int sum = 0;
        for (int d = digit + 1; d < 256; d++) {
            sum += histogram[d];
        }
        return sum;
    }
}
