// What attention keeps: a worker's place of work, and the states of heads, which are joined segment by segment.
#ifndef MILLRACE_ATTENTION_STATES_H
#define MILLRACE_ATTENTION_STATES_H

#include "keys.h"
#include "tiles.h"

enum {
    CODE_HEADS = 64,    // up to so many, times rows of a group, values are summed from codes
    MEMORY_PAGE = 4096
};

// Heads `[from, to)`.
typedef struct {
    int64_t from, to;
} head_range;

// What a worker keeps of a chunk.
typedef struct {
    const attention_call *call;
    head_range heads;      // those of the chunk
    int64_t width;         // floats of a value row, padded
    float *wide;           // [TILE_KEYS][key width]: keys as floats
    uint8_t *spare;        // the same memory for codes
    uint8_t *latent_panels, *rope_panels;
    float *values;         // [TILE_KEYS][TILE_PANELS][16]
    float *scores;         // [GROUP_ROWS][heads][TILE_KEYS]
    float *factors;        // [GROUP_ROWS][padded heads]
    float *result;         // [padded kv_rank]: of a head, where only its rounding is wanted
    rounded_rows latent_query, rope_query; // of the rows of a group
    float key_scales[2][TILE_KEYS];
    const uint8_t *keys[TILE_KEYS];
    int64_t count;
    const uint8_t *next[TILE_KEYS], *next_scales[TILE_KEYS];  // of the next tile, fetched while this one is computed
    int64_t next_count;
} workplace;

// A state is, for each head: the largest score, the sum of weights, the weighted sum of values.
typedef struct {
    float *largest, *sum, *value;
} head_states;

INLINE float *scores_of(const workplace *w, int64_t group_row) {
    return w->scores + group_row * w->call->heads * TILE_KEYS;
}

INLINE float *factors_of(const workplace *w, int64_t group_row) {
    return w->factors + group_row * padded(w->call->heads);
}

INLINE head_states states_at(const attention_call *call, float *at) {
    int64_t heads = padded(call->heads);
    return (head_states){at, at + heads, at + 2 * heads};
}

// States of no keys. Their values are left as they are: whoever adds to them looks at the first key.
INLINE void begin_states(const workplace *w, head_states s) {
    int64_t heads = padded(w->call->heads);
    for (int64_t h = 0; h < heads; h += LANES) {
        store(s.largest + h, all(-INFINITY));
        store(s.sum + h, zero());
    }
}

// States of no keys, with values of zero, to be joined with others.
INLINE void clear_states(const workplace *w, head_states s) {
    begin_states(w, s);
    memset(s.value + w->heads.from * w->width, 0, (size_t) ((w->heads.to - w->heads.from) * w->width) * sizeof(float));
}

// a = a and b together.
static void join(const workplace *w, head_states a, head_states b) {
    const head_range heads = w->heads;
    float scale_a[LANES], scale_b[LANES];
    for (int64_t from = heads.from / LANES * LANES; from < heads.to; from += LANES) {
        floats largest = maximum(load(a.largest + from), load(b.largest + from));
        floats fa = exp_lanes(sub(load(a.largest + from), largest));
        floats fb = exp_lanes(sub(load(b.largest + from), largest));
        store(a.sum + from, fma_lanes(load(a.sum + from), fa, mul(load(b.sum + from), fb)));
        store(a.largest + from, largest);
        store(scale_a, fa);
        store(scale_b, fb);
        for (int64_t h = max64(from, heads.from); h < min64(from + LANES, heads.to); h++) {
            float *va = a.value + h * w->width;
            const float *vb = b.value + h * w->width;
            for (int64_t i = 0; i < w->width; i += LANES) {
                floats scaled = mul(load(vb + i), all(scale_b[h - from]));
                store(va + i, fma_lanes(load(va + i), all(scale_a[h - from]), scaled));
            }
        }
    }
}

// The result of a row's states. States of a single segment and these joined with no others give the same: a joined value
// is never -0, so neither is one here.
static void finish(const workplace *w, head_states s, int64_t row) {
    const attention_call *call = w->call;
    for (int64_t h = w->heads.from; h < w->heads.to; h++) {
        float *out = call->out_rounded.codes ? w->result : call->out + (row * call->heads + h) * call->out_step;
        floats whole = all(s.sum[h]);
        for (int64_t i = 0; i < call->kv_rank; i += LANES) {
            floats value = add(load(s.value + h * w->width + i), zero());
            store_to(out + i, divide(value, whole), call->kv_rank - i);
        }
        if (call->out_rounded.codes) {
            round_into(&call->out_rounded, row * call->heads + h, out, 0, call->kv_rank);
        }
    }
}

#endif
