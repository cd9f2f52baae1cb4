// Rows of logits: their largest, sums of exponentials, and the tokens that can win a draw. Three phases: every slice is
// scanned, every row ranked, then every slice weighed beside its row's maximum.
#include "best.h"
#include "calls.h"
#include "noise.h"

enum { BLOCK_VECTORS = SAMPLE_BLOCK / LANES, SLICE_BLOCKS = SAMPLE_SLICE / SAMPLE_BLOCK };

// The tokens of a block; behind the end of the vocabulary, impossible ones.
INLINE const float *block_of(const float *x, int64_t tokens, float *spare) {
    if (tokens >= SAMPLE_BLOCK) {
        return x;
    }
    for (int64_t i = 0; i < SAMPLE_BLOCK; i++) {
        spare[i] = i < tokens ? x[i] : -INFINITY;
    }
    return spare;
}

static int32_t first_invalid(const float *x, int64_t from) {
    int64_t i = 0;
    while (x[i] < INFINITY) {
        i++;
    }
    return (int32_t) (from + i);
}

static void scan_slice(const sampling_call *call, int64_t row, int64_t slice) {
    const float *x = call->logits + row * call->vocab;
    float *maxima = call->maxima + (row * call->slices + slice) * SLICE_BLOCKS;
    int64_t end = min64(call->vocab, (slice + 1) * SAMPLE_SLICE);
    int32_t invalid = -1;
    float spare[SAMPLE_BLOCK];
    for (int64_t from = slice * SAMPLE_SLICE; from < end; from += SAMPLE_BLOCK) {
        const float *block = block_of(x + from, end - from, spare);
        floats largest = load(block);
        uint32_t below = lanes_above(all(INFINITY), largest);
        for (int v = 1; v < BLOCK_VECTORS; v++) {
            floats next = load(block + v * LANES);
            below &= lanes_above(all(INFINITY), next);
            largest = maximum(largest, next);
        }
        if (below != 0xffffu && invalid < 0) {
            invalid = first_invalid(block, from);
        }
        *maxima++ = largest_lane(largest) + 0.0f;  // no negative zero
    }
    call->invalid[row * call->slices + slice] = invalid;
}

INLINE int64_t chunks_of_row(const sampling_call *call) {
    return (call->slices + call->slices_per_chunk - 1) / call->slices_per_chunk;
}

#define EACH_SLICE(call, chunk, row, slice) \
    for (int64_t row = (chunk) / chunks_of_row(call), \
                 slice = (chunk) % chunks_of_row(call) * (call)->slices_per_chunk, \
                 end_slice = min64(slice + (call)->slices_per_chunk, (call)->slices); \
         slice < end_slice; slice++)

void FN(sample_scan)(const sampling_call *call, int32_t chunk, int32_t worker) {
    (void) worker;
    EACH_SLICE(call, chunk, row, slice) {
        scan_slice(call, row, slice);
    }
}

// A key that divides the `wanted` largest of the maxima from the others, and how many equal to it are among them.
static uint32_t last_maximum(const float *maxima, int64_t blocks, int64_t wanted, int64_t *equal) {
    if (wanted >= blocks) {
        *equal = blocks;
        return 0;
    }
    if (wanted > 1) {
        return dividing_key(maxima, blocks, wanted, equal);
    }
    uint32_t largest = 0;
    for (int64_t b = 0; b < blocks; b++) {
        uint32_t key = ordered(maxima[b]);
        largest = key > largest ? key : largest;
    }
    *equal = 1;
    return largest;
}

// Finds the best tokens. They lie in the blocks of as many best maxima, ties to the lower block: before a token of
// another block come the tokens of all these maxima.
static void find_best(const sampling_call *call, int64_t row, best_list *best) {
    const float *x = call->logits + row * call->vocab;
    const float *maxima = call->maxima + row * call->slices * SLICE_BLOCKS;
    int64_t blocks = (call->vocab + SAMPLE_BLOCK - 1) / SAMPLE_BLOCK, equal;
    uint32_t last = last_maximum(maxima, blocks, best->top_k, &equal);
    if (last > ordered(-INFINITY)) {
        // As many tokens as are wanted are not below the last of the maxima.
        best->cut = 1;
        best->limit = of_order(last - 1);
        if (best->limit == 0) {
            best->limit = -1e-45f;
        }
    }
    float spare[SAMPLE_BLOCK];
    for (int64_t b = 0; b < blocks; b++) {
        uint32_t key = ordered(maxima[b]);
        if (key > last || (key == last && equal-- > 0)) {
            int64_t from = b * SAMPLE_BLOCK, tokens = min64(SAMPLE_BLOCK, call->vocab - from);
            offer(best, block_of(x + from, tokens, spare), tokens, from);
        }
    }
    cut_to_best(best);
}

// Sorts keys ascending.
static void sort(uint64_t *keys, int64_t count) {
    static const int64_t GAPS[] = {132, 57, 23, 10, 4, 1};
    for (int g = 0; g < 6; g++) {
        for (int64_t i = GAPS[g]; i < count; i++) {
            uint64_t key = keys[i];
            int64_t at = i;
            for (; at >= GAPS[g] && keys[at - GAPS[g]] > key; at -= GAPS[g]) {
                keys[at] = keys[at - GAPS[g]];
            }
            keys[at] = key;
        }
    }
}

static int64_t rank_bytes(int64_t candidates) { return best_capacity(candidates) * 8 + candidates * 8; }

// A chunk is a row.
void FN(sample_rank)(const sampling_call *call, int32_t row, int32_t worker) {
    int32_t *found = call->found + 2 * row;
    found[0] = -1;
    found[1] = 0;
    for (int64_t s = 0; s < call->slices; s++) {
        if (call->invalid[row * call->slices + s] >= 0) {
            found[0] = call->invalid[row * call->slices + s];
            return;
        }
    }
    uint8_t *scratch = call->scratch + worker * call->scratch_bytes;
    int64_t wanted = call->rows[row].candidates, capacity = best_capacity(wanted);
    best_list best = {wanted, capacity, 0, 0, 0, (float *) scratch, (int32_t *) scratch + capacity};
    uint64_t *keys = (uint64_t *) (scratch + capacity * 8);
    find_best(call, row, &best);
    for (int64_t i = 0; i < best.count; i++) {
        keys[i] = (uint64_t) ~ordered(best.scores[i]) << 32 | (uint32_t) best.ranks[i];
    }
    sort(keys, best.count);
    for (int64_t i = 0; i < best.count; i++) {
        int32_t id = (int32_t) keys[i];
        call->ids[row * call->most + i] = id;
        call->values[row * call->most + i] = call->logits[row * call->vocab + id];
    }
    found[1] = (int32_t) best.count;
}

// Bytes a worker needs.
int64_t FN(sample_scratch)(const sampling_call *call) { return (rank_bytes(call->most) + 63) / 64 * 64; }

// (x - max) / temperature.
INLINE floats scale(floats x, floats max, float temperature) {
    floats difference = sub(x, max);
    return temperature == 1.0f ? difference : divide(difference, all(temperature));
}

INLINE float scale_one(float x, float max, float temperature) { return (x - max) / temperature; }

// The sum of exp((x - max) / temperature) over a slice.
static float sum_slice(const float *x, const float *maxima, int64_t tokens, float max, float temperature) {
    floats sum = zero();
    float spare[SAMPLE_BLOCK];
    for (int64_t b = 0; b * SAMPLE_BLOCK < tokens; b++) {
        if (scale_one(maxima[b], max, temperature) < -87.0f) {
            continue;  // nothing but zeros
        }
        const float *block = block_of(x + b * SAMPLE_BLOCK, tokens - b * SAMPLE_BLOCK, spare);
        floats e[BLOCK_VECTORS];
        for (int v = 0; v < BLOCK_VECTORS; v++) {
            e[v] = exp_lanes(scale(load(block + v * LANES), all(max), temperature));
        }
        sum = add(sum, add(add(e[0], e[1]), add(e[2], e[3])));
    }
    return sum_lanes(sum);
}

typedef struct {
    float floor;
    int64_t count;
    int32_t ids[SAMPLE_SLICE];
    float tops[SAMPLE_SLICE];
} contender_list;

// Takes the tokens of sixteen lanes whose sum with upper noise is above the floor, and raises the floor.
static void contend(contender_list *list, uint32_t mask, floats scaled, ints words, int64_t id) {
    float scaled_lanes[LANES], upper_lanes[LANES];
    uint32_t word_lanes[LANES];
    store(scaled_lanes, scaled);
    store(upper_lanes, upper_noise(words));
    memcpy(word_lanes, &words, sizeof word_lanes);
    for (; mask; mask &= mask - 1) {
        int lane = __builtin_ctz(mask);
        float top = scaled_lanes[lane] + upper_lanes[lane];
        if (!(top > list->floor)) {
            continue;
        }
        list->ids[list->count] = (int32_t) id + lane;
        list->tops[list->count++] = top;
        float bottom = scaled_lanes[lane] + lower_noise(word_lanes[lane], upper_lanes[lane]);
        list->floor = bottom > list->floor ? bottom : list->floor;
    }
}

static void find_contenders(const sampling_call *call, int64_t row, int64_t slice, contender_list *list) {
    const sampling_row *asked = call->rows + row;
    const noise_address address = {(uint32_t) asked->key0, (uint32_t) asked->key1, (uint32_t) asked->position,
                                   (uint32_t) asked->choice};
    const float *x = call->logits + row * call->vocab;
    const float *maxima = call->maxima + row * call->slices * SLICE_BLOCKS;
    float max = (float) asked->max, temperature = (float) asked->temperature;
    int64_t end = min64(call->vocab, (slice + 1) * SAMPLE_SLICE);
    float spare[SAMPLE_BLOCK];
    list->floor = (float) asked->floor;
    list->count = 0;
    for (int64_t from = slice * SAMPLE_SLICE; from < end; from += SAMPLE_BLOCK) {
        if (!(scale_one(maxima[from / SAMPLE_BLOCK], max, temperature) + LARGEST_NOISE > list->floor)) {
            continue;
        }
        const float *block = block_of(x + from, end - from, spare);
        ints words[BLOCK_VECTORS];
        philox_lanes(&address, (uint32_t) from / 4, words);
        philox_lanes(&address, (uint32_t) (from + WORDS) / 4, words + WORDS / LANES);
        for (int v = 0; v < BLOCK_VECTORS; v++) {
            floats scaled = scale(load(block + v * LANES), all(max), temperature);
            uint32_t mask = lanes_above(add(scaled, upper_noise(words[v])), all(list->floor));
            if (mask) {
                contend(list, mask, scaled, words[v], from + v * LANES);
            }
        }
    }
}

static void write_contenders(const contender_list *list, sampling_slice *out) {
    out->floor = list->floor;
    out->contenders = 0;
    for (int64_t i = 0; i < list->count; i++) {
        if (list->tops[i] > list->floor) {
            if (out->contenders < SLICE_CONTENDERS) {
                out->ids[out->contenders] = list->ids[i];
                out->tops[out->contenders] = list->tops[i];
            }
            out->contenders++;
        }
    }
}

static void weigh_slice(const sampling_call *call, int64_t row, int64_t slice) {
    const sampling_row *asked = call->rows + row;
    sampling_slice *out = call->found_in + row * call->slices + slice;
    const float *x = call->logits + row * call->vocab + slice * SAMPLE_SLICE;
    const float *maxima = call->maxima + (row * call->slices + slice) * SLICE_BLOCKS;
    int64_t tokens = min64(SAMPLE_SLICE, call->vocab - slice * SAMPLE_SLICE);
    float max = (float) asked->max, temperature = (float) asked->temperature;
    if (asked->scaled_sum) {
        out->scaled_sum = sum_slice(x, maxima, tokens, max, temperature);
    }
    if (asked->logit_sum) {
        int same = asked->scaled_sum && temperature == 1.0f;
        out->logit_sum = same ? out->scaled_sum : sum_slice(x, maxima, tokens, max, 1.0f);
    }
    if (asked->noise) {
        contender_list list;
        find_contenders(call, row, slice, &list);
        write_contenders(&list, out);
    }
}

void FN(sample_weigh)(const sampling_call *call, int32_t chunk, int32_t worker) {
    (void) worker;
    EACH_SLICE(call, chunk, row, slice) {
        weigh_slice(call, row, slice);
    }
}
