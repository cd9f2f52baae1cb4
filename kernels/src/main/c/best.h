// The best of a stream of scored ranks, by score descending, then by rank ascending; a NaN ranks as minus infinity.
#ifndef MILLRACE_BEST_H
#define MILLRACE_BEST_H

#include "lanes.h"

// Candidates in ascending order of rank. When the list is full it is cut to the top_k best, and from then on only scores
// above the worst of them can enter: an equal one comes later and loses.
typedef struct {
    int64_t top_k, capacity, count;
    float limit;
    int cut;  // whether the limit holds
    float *scores;
    int32_t *ranks;
} best_list;

// Room for scores of at least one tile beyond a full list.
INLINE int64_t best_capacity(int64_t top_k) { return (2 * top_k + 64 + 15) / 16 * 16; }

// A float as an integer of the same order.
INLINE uint32_t ordered(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

// The `wanted`-th largest key, and how many of those equal to it are among the `wanted` largest.
static uint32_t largest_key(const float *scores, int64_t count, int64_t wanted, int64_t *equal) {
    uint32_t prefix = 0, mask = 0;
    for (int shift = 24; shift >= 0; shift -= 8) {
        int32_t histogram[256] = {0};
        for (int64_t i = 0; i < count; i++) {
            uint32_t key = ordered(scores[i]);
            if ((key & mask) == prefix) {
                histogram[key >> shift & 255]++;
            }
        }
        int bucket = 255;
        while (histogram[bucket] < wanted) {
            wanted -= histogram[bucket--];
        }
        prefix |= (uint32_t) bucket << shift;
        mask |= 255u << shift;
    }
    *equal = wanted;
    return prefix;
}

// Cuts the list to its top_k best, in order.
static void cut_to_best(best_list *list) {
    if (list->count <= list->top_k) {
        return;
    }
    int64_t equal;
    uint32_t key = largest_key(list->scores, list->count, list->top_k, &equal);
    int64_t kept = 0;
    for (int64_t i = 0; i < list->count; i++) {
        uint32_t k = ordered(list->scores[i]);
        if (k > key || (k == key && equal-- > 0)) {
            list->scores[kept] = list->scores[i];
            list->ranks[kept++] = list->ranks[i];
            if (k == key) {
                list->limit = list->scores[kept - 1];
            }
        }
    }
    list->count = kept;
    list->cut = 1;
}

// Offers `count` scores of consecutive ranks, at most 64.
INLINE void offer(best_list *list, const float *scores, int64_t count, int64_t rank) {
    if (list->count + count > list->capacity) {
        cut_to_best(list);
    }
    for (int64_t i = 0; i < count; i += LANES) {
        int64_t n = min64(LANES, count - i);
        uint32_t mask = n < LANES ? (1u << n) - 1 : 0xffffu;
        if (list->cut) {
            mask &= lanes_above(load(scores + i), all(list->limit));
        }
        while (mask) {
            int lane = __builtin_ctz(mask);
            mask &= mask - 1;
            float score = scores[i + lane] + 0.0f;  // no negative zero
            list->scores[list->count] = score == score ? score : -INFINITY;
            list->ranks[list->count++] = (int32_t) (rank + i + lane);
        }
    }
}

#endif
