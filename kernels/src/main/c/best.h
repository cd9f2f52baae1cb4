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

enum { TILE_SCORES = 64 };

// Room for scores of at least one tile beyond a full list, in whole lanes.
INLINE int64_t best_capacity(int64_t top_k) { return (2 * top_k + TILE_SCORES + LANES - 1) / LANES * LANES; }

// A float as an integer of the same order.
INLINE uint32_t ordered(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

// The float of a key of ordered().
INLINE float of_order(uint32_t key) {
    uint32_t bits = key & 0x80000000u ? key & 0x7fffffffu : ~key;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

INLINE uint32_t first_lanes(int64_t n) { return n < LANES ? (1u << n) - 1 : 0xffffu; }

static int64_t count_above(const float *scores, int64_t count, float limit) {
    int64_t above = 0;
    for (int64_t i = 0; i < count; i += LANES) {
        uint32_t mask = lanes_above(load_to(scores + i, count - i), all(limit)) & first_lanes(count - i);
        above += __builtin_popcount(mask);
    }
    return above;
}

// The keys of the least and the greatest of `count` scores.
static void range_of_keys(const float *scores, int64_t count, uint32_t *least, uint32_t *greatest) {
    floats high = all(-INFINITY), low = all(INFINITY);
    int64_t i = 0;
    for (; i + LANES <= count; i += LANES) {
        high = maximum(high, load(scores + i));
        low = minimum(low, load(scores + i));
    }
    float top = largest_lane(high), bottom = -largest_lane(sub(zero(), low));
    for (; i < count; i++) {
        top = scores[i] > top ? scores[i] : top;
        bottom = scores[i] < bottom ? scores[i] : bottom;
    }
    *least = ordered(bottom + 0.0f);
    *greatest = ordered(top);
}

// A key with which the scores above it, and the first `equal` of those that equal it, are the `wanted` largest of `count`.
// Found by halving the range of keys until as many as are wanted lie above the middle, at the latest when one key is left:
// that needs a count of a whole list a round, some ten rounds for scores that differ, and no branch that depends on a
// single score. Scores are numbers without negative zeros.
static uint32_t dividing_key(const float *scores, int64_t count, int64_t wanted, int64_t *equal) {
    uint32_t low, high;
    int64_t above_high = 0;
    range_of_keys(scores, count, &low, &high);
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int64_t above = count_above(scores, count, of_order(middle));
        if (above == wanted) {
            *equal = 0;
            return ordered(of_order(middle) + 0.0f);
        }
        if (above > wanted) {
            low = middle + 1;
        } else {
            high = middle;
            above_high = above;
        }
    }
    *equal = wanted - above_high;
    return ordered(of_order(low) + 0.0f);
}

// The lowest `n` bits of a mask.
INLINE uint32_t lowest_bits(uint32_t mask, int64_t n) {
    uint32_t kept = 0;
    for (; n > 0 && mask; n--) {
        kept |= mask & -mask;
        mask &= mask - 1;
    }
    return kept;
}

// Cuts the list to its top_k best, in order.
static void cut_to_best(best_list *list) {
    if (list->count <= list->top_k) {
        return;
    }
    int64_t equal, kept = 0;
    float limit = of_order(dividing_key(list->scores, list->count, list->top_k, &equal));
    for (int64_t i = 0; i < list->count; i += LANES) {
        floats scores = load(list->scores + i);
        uint32_t seen = first_lanes(list->count - i);
        uint32_t above = lanes_above(scores, all(limit)) & seen;
        uint32_t same = lowest_bits(~above & ~lanes_above(all(limit), scores) & seen, equal);
        equal -= __builtin_popcount(same);
        pack_lanes(list->scores + kept, list->scores + i, above | same);
        pack_lanes(list->ranks + kept, list->ranks + i, above | same);
        kept += __builtin_popcount(above | same);
    }
    list->limit = limit;
    list->count = kept;
    list->cut = 1;
}

// Offers the first `n` of sixteen scores: those of `ranks`, or where that is null of ranks from `rank` on.
INLINE void offer_lanes(best_list *list, floats scores, const int32_t *ranks, int64_t rank, int64_t n) {
    uint32_t mask = first_lanes(n);
    if (list->cut) {
        mask &= lanes_above(scores, all(list->limit));
    }
    if (!mask) {
        return;
    }
    float numbers[LANES];
    int32_t places[LANES] = {0};
    store(numbers, maximum(add(scores, zero()), all(-INFINITY)));  // no negative zero, no NaN
    if (ranks) {
        memcpy(places, ranks, (size_t) min64(n, LANES) * sizeof *ranks);
    } else {
        for (int32_t j = 0; j < LANES; j++) {
            places[j] = (int32_t) rank + j;
        }
    }
    pack_lanes(list->scores + list->count, numbers, mask);
    pack_lanes(list->ranks + list->count, places, mask);
    list->count += __builtin_popcount(mask);
}

// Offers `count` scores of consecutive ranks, at most 64.
INLINE void offer(best_list *list, const float *scores, int64_t count, int64_t rank) {
    if (list->count + TILE_SCORES > list->capacity) {
        cut_to_best(list);
    }
    for (int64_t i = 0; i < count; i += LANES) {
        offer_lanes(list, load_to(scores + i, count - i), 0, rank + i, count - i);
    }
}

// Offers any number of scores of ascending ranks.
INLINE void offer_ranked(best_list *list, const float *scores, const int32_t *ranks, int64_t count) {
    for (int64_t i = 0; i < count; i += LANES) {
        if (list->count + TILE_SCORES > list->capacity) {
            cut_to_best(list);
        }
        offer_lanes(list, load_to(scores + i, count - i), ranks + i, 0, count - i);
    }
}

#endif
