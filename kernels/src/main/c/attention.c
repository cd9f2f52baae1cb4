// Softmax attention over selected slots in the absorbed form: heads are rows of a product with a tile of keys.
#include "attention_states.h"

// ---- Scores of some heads against the tile's keys.

typedef struct {
    const workplace *w;
    int64_t group_row, row;  // number in the group, row of the step
    int64_t head;
} score_place;

INLINE void float_scores(const score_place *t, int rows, int panels) {
    const workplace *w = t->w;
    const attention_call *call = w->call;
    int64_t depth = call->kv_rank + call->rope;
    const float *x[TILE_ROWS];
    floats acc[CELLS];
    UNROLL for (int r = 0; r < rows; r++) {
        x[r] = call->query + (t->row * call->heads + t->head + r) * depth;
    }
    for (int64_t from = 0; from < KEY_PANELS; from += panels) {
        UNROLL for (int i = 0; i < rows * panels; i++) {
            acc[i] = zero();
        }
        int64_t panel_floats = whole_steps(depth, LANES) * LANES;
        const float *keys = (const float *) w->latent_panels + from * panel_floats;
        tile_f32(rows, panels, x, keys, panel_floats, depth, NOTHING_AHEAD, acc);
        UNROLL for (int i = 0; i < rows * panels; i++) {
            float *to = scores_of(w, t->group_row) + (t->head + i / panels) * TILE_KEYS + (from + i % panels) * LANES;
            store(to, mul(acc[i], all((float) call->scale)));
        }
    }
}

INLINE void add_int8_scores(const score_place *t, int rows, int panels, int part) {
    const workplace *w = t->w;
    const attention_call *call = w->call;
    const rounded_rows *query = part == 0 ? &w->latent_query : &w->rope_query;
    const uint8_t *keys = part == 0 ? w->latent_panels : w->rope_panels;
    int64_t quads = query->stride / 4;
    const int8_t *x[TILE_ROWS];
    float scale[TILE_ROWS];
    int32_t start[TILE_ROWS];
    ints acc[CELLS];
    UNROLL for (int r = 0; r < rows; r++) {
        int64_t at = t->group_row * call->heads + t->head + r;
        x[r] = query->codes + at * query->stride;
        scale[r] = query->scales[at];
        start[r] = -W8_OFFSET * query->sums[at * query->sum_step];
    }
    for (int64_t from = 0; from < KEY_PANELS; from += panels) {
        UNROLL for (int i = 0; i < rows * panels; i++) {
            acc[i] = all_ints(start[i / panels]);
        }
        tile_w8(rows, panels, x, keys + from * quads * 64, quads * 64, quads, NOTHING_AHEAD, acc);
        UNROLL for (int i = 0; i < rows * panels; i++) {
            float *to = scores_of(w, t->group_row) + (t->head + i / panels) * TILE_KEYS + (from + i % panels) * LANES;
            floats by_key = load(w->key_scales[part] + (from + i % panels) * LANES);
            floats factor = mul(all(scale[i / panels]), by_key);
            floats product = to_floats(acc[i]);
            if (part == 0) {
                store(to, mul(product, factor));
            } else {
                store(to, mul(fma_lanes(product, factor, load(to)), all((float) call->scale)));
            }
        }
    }
}

INLINE void latent_scores(const score_place *t, int rows, int panels) { add_int8_scores(t, rows, panels, 0); }
INLINE void rope_scores(const score_place *t, int rows, int panels) { add_int8_scores(t, rows, panels, 1); }

TILE_TABLE(float_scores, const score_place *)
TILE_TABLE(latent_scores, const score_place *)
TILE_TABLE(rope_scores, const score_place *)

// ---- Weights: scores become weights, states their new maxima and sums.

static void weigh(workplace *w, int64_t group_row, head_states s, int64_t count) {
    const attention_call *call = w->call;
    float *factors = factors_of(w, group_row);
    const head_range heads = w->heads;
    for (int64_t h = heads.from; h < heads.to; h++) {
        float *scores = scores_of(w, group_row) + h * TILE_KEYS;
        for (int64_t j = count; j < TILE_KEYS; j++) {
            scores[j] = -INFINITY;
        }
        floats a = maximum(load(scores), load(scores + LANES));
        floats b = maximum(load(scores + 2 * LANES), load(scores + 3 * LANES));
        float largest = largest_lane(maximum(a, b));
        factors[h] = s.largest[h];
        s.largest[h] = largest > s.largest[h] ? largest : s.largest[h];
    }
    for (int64_t h = heads.from; h < heads.to; h += LANES) {
        floats old = load_to(factors + h, heads.to - h);
        floats now = load_to(s.largest + h, heads.to - h);
        store_to(factors + h, exp_lanes(sub(old, now)), heads.to - h);
    }
    int int8 = call->latent.format == KV_INT8;
    for (int64_t h = heads.from; h < heads.to; h++) {
        float *scores = scores_of(w, group_row) + h * TILE_KEYS;
        floats weight[KEY_PANELS];
        for (int p = 0; p < KEY_PANELS; p++) {
            weight[p] = exp_lanes(sub(load(scores + p * LANES), all(s.largest[h])));
            floats kept = int8 ? mul(weight[p], load(w->key_scales[0] + p * LANES)) : weight[p];
            store(scores + p * LANES, kept);
        }
        float sum = sum_lanes(add(add(weight[0], weight[1]), add(weight[2], weight[3])));
        s.sum[h] = fmaf(s.sum[h], factors[h], sum);
    }
}

// ---- Values: value = value * factor + weights times the tile's latents, in order of the keys.

typedef struct {
    const workplace *w;
    head_states states;
    int64_t group_row, head;
    int64_t column;  // first element of the slice
    int64_t count;
    int64_t first;   // whether these are the first keys of the states, which have no values yet
    const uint8_t *const *ahead;  // of each key a line `ahead_at` bytes on is fetched; null for none
    int64_t ahead_at;
} value_place;

// y[r, p] += sum over keys of x[r][key] times the key's latent from a column on: its codes, or the slice of the tile's
// values. While it computes it fetches a line of each key of the next tile: all at once would have to wait for memory.
INLINE void tile_values(int rows, int panels, int codes, const float *const *x, const value_place *t, floats *acc) {
    for (int64_t k = 0; k < t->count; k++) {
        if (t->ahead) {
            FETCH(t->ahead[k] + t->ahead_at);
        }
        const int8_t *code = (const int8_t *) t->w->keys[k] + t->column;
        const float *value = t->w->values + k * TILE_PANELS * LANES;
        floats column[TILE_PANELS];
        UNROLL for (int p = 0; p < panels; p++) {
            column[p] = codes ? load_i8(code + p * LANES) : load(value + p * LANES);
        }
        UNROLL for (int i = 0; i < rows * panels; i++) {
            acc[i] = fma_lanes(all(x[i / panels][k]), column[i % panels], acc[i]);
        }
    }
}

INLINE void add_values(const value_place *t, int rows, int panels, int codes) {
    const workplace *w = t->w;
    const float *factors = factors_of(w, t->group_row) + t->head;
    const float *x[TILE_ROWS];
    floats acc[CELLS];
    UNROLL for (int r = 0; r < rows; r++) {
        x[r] = scores_of(w, t->group_row) + (t->head + r) * TILE_KEYS;
    }
    UNROLL for (int i = 0; i < rows * panels; i++) {
        const float *value = t->states.value + (t->head + i / panels) * w->width + t->column + i % panels * LANES;
        acc[i] = t->first ? zero() : mul(load(value), all(factors[i / panels]));
    }
    tile_values(rows, panels, codes, x, t, acc);
    UNROLL for (int i = 0; i < rows * panels; i++) {
        store(t->states.value + (t->head + i / panels) * w->width + t->column + i % panels * LANES, acc[i]);
    }
}

INLINE void add_code_values(const value_place *t, int rows, int panels) { add_values(t, rows, panels, 1); }
INLINE void add_float_values(const value_place *t, int rows, int panels) { add_values(t, rows, panels, 0); }

TILE_TABLE(add_code_values, const value_place *)
TILE_TABLE(add_float_values, const value_place *)

// The tile's latents [TILE_KEYS][TILE_PANELS][16] from a column on. Codes are read in whole lanes: behind a latent lie
// other codes or scales of its page, and what they add to values behind the latent is not looked at.
static void slice_values(workplace *w, int64_t column, int64_t panels) {
    const attention_call *call = w->call;
    int64_t wide_step = whole_steps(call->kv_rank + call->rope, LANES);
    for (int64_t j = 0; j < w->count; j++) {
        float *to = w->values + j * TILE_PANELS * LANES;
        for (int64_t p = 0; p < panels; p++) {
            int64_t from = column + p * LANES;
            int64_t n = call->kv_rank - from;
            store(to + p * LANES, call->latent.format == KV_INT8 ? load_i8((const int8_t *) w->keys[j] + from)
                                                                 : load_to(w->wide + j * wide_step + from, n));
        }
    }
}

// ---- Tiles and segments.

INLINE int64_t slot_of(const attention_call *call, int64_t row, int64_t rank) {
    return call->dense[row] ? call->batch.first_slot + rank : call->selected[row * call->top_k + rank];
}

// Finds the keys of the next tile, ranks `[rank, end)`.
static void look_ahead(workplace *w, int64_t row, int64_t rank, int64_t end) {
    const attention_call *call = w->call;
    const int32_t *table = (const int32_t *) call->batch.tables[row];
    w->next_count = max64(0, min64(TILE_KEYS, end - rank));
    for (int64_t j = 0; j < w->next_count; j++) {
        int64_t slot = slot_of(call, row, rank + j);
        w->next[j] = row_of(&call->latent, table, slot);
        w->next_scales[j] = (const uint8_t *) scales_of(&call->latent, table, slot);
    }
    // Neighbours lie in few pages of memory: their addresses are looked up at once, not one after the other.
    int64_t page_keys = max64(1, MEMORY_PAGE / row_bytes(&call->latent));
    for (int64_t j = 0; call->dense[row] && j < w->next_count; j += page_keys) {
        FETCH(w->next[j]);
    }
    for (int64_t j = w->next_count; j < TILE_KEYS && w->next_count > 0; j++) {
        w->next[j] = w->next[0];
        w->next_scales[j] = w->next_scales[0];
    }
}

// Gathers the keys of ranks `[rank, rank + count)` of a row.
static void gather(workplace *w, int64_t row, int64_t rank, int64_t count) {
    const attention_call *call = w->call;
    const int32_t *table = (const int32_t *) call->batch.tables[row];
    w->count = count;
    for (int64_t j = 0; j < count; j++) {
        int64_t slot = slot_of(call, row, rank + j);
        w->keys[j] = row_of(&call->latent, table, slot);
        if (call->latent.format == KV_INT8) {
            const float *scales = scales_of(&call->latent, table, slot);
            w->key_scales[0][j] = scales[0];
            w->key_scales[1][j] = scales[1];
        }
    }
    if (call->latent.format == KV_INT8) {
        turn_codes(w->keys, count, call->kv_rank, w->spare, w->latent_panels);
        const uint8_t *ropes[TILE_KEYS];
        for (int64_t j = 0; j < count; j++) {
            ropes[j] = w->keys[j] + call->kv_rank;
        }
        turn_codes(ropes, count, call->rope, w->spare, w->rope_panels);
        for (int64_t j = count; j < TILE_KEYS; j++) {
            w->key_scales[0][j] = 0;
            w->key_scales[1][j] = 0;
        }
    } else {
        const uint8_t *rows[TILE_KEYS];
        int64_t width = call->kv_rank + call->rope;
        widen_rows(w->keys, count, call->latent.format, width, w->wide);
        point((const uint8_t *) w->wide, whole_steps(width, LANES) * 4, count, rows);
        turn(rows, count, width, 0, w->latent_panels);
    }
}

// Heads of a tile.
INLINE int64_t head_step(const workplace *w) { return even_step(w->heads.to - w->heads.from, TILE_ROWS); }

static void score(const workplace *w, int64_t group_row, int64_t row) {
    const attention_call *call = w->call;
    int64_t step = head_step(w);
    for (int64_t head = w->heads.from; head < w->heads.to; head += step) {
        int64_t heads = min64(step, w->heads.to - head);
        const score_place t = {w, group_row, row, head};
        if (call->latent.format == KV_INT8) {
            latent_scores_shapes[TILE_PANELS - 1][heads - 1](&t);
            rope_scores_shapes[TILE_PANELS - 1][heads - 1](&t);
        } else {
            float_scores_shapes[TILE_PANELS - 1][heads - 1](&t);
        }
    }
}

INLINE int64_t visible_keys(const attention_call *call, int64_t row) { return call->counts[row]; }

// The rows of a group, of one sequence, and the states they are to be added to, one a row.
typedef struct {
    int64_t first_row, rows;
    float *states;
} row_group;

INLINE head_states group_states(const attention_call *call, const row_group *g, int64_t row) {
    return states_at(call, g->states + row * call->state_floats);
}

// Keys of the tile that a row of the group sees.
INLINE int64_t tile_keys(const workplace *w, const row_group *g, int64_t row, int64_t rank) {
    return min64(w->count, visible_keys(w->call, g->first_row + row) - rank);
}

// What the `number`-th product of a tile fetches of the next one.
INLINE void fetch_ahead(const workplace *w, int64_t number, value_place *t) {
    int64_t lines = (row_bytes(&w->call->latent) + 63) / 64;
    if (w->next_count > 0 && number <= lines) {
        t->ahead = number < lines ? w->next : w->next_scales;
        t->ahead_at = number < lines ? number * 64 : 0;
    }
}

// Few heads take the codes as they are; for many a slice of the tile's latents is made once.
static void add_tile(workplace *w, const row_group *g, int64_t rank) {
    const attention_call *call = w->call;
    int64_t all_panels = w->width / LANES, number = 0, step = head_step(w), first = rank % SEGMENT_KEYS == 0;
    int codes = call->latent.format == KV_INT8 && g->rows * call->heads <= CODE_HEADS;
    for (int64_t panel = 0; panel < all_panels; panel += TILE_PANELS) {
        int64_t panels = min64(TILE_PANELS, all_panels - panel);
        if (!codes) {
            slice_values(w, panel * LANES, panels);
        }
        for (int64_t r = 0; r < g->rows; r++) {
            int64_t count = tile_keys(w, g, r, rank);
            for (int64_t head = w->heads.from; head < w->heads.to && count > 0; head += step) {
                int64_t heads = min64(step, w->heads.to - head);
                value_place t = {w, group_states(call, g, r), r, head, panel * LANES, count, first, 0, 0};
                fetch_ahead(w, number++, &t);
                if (codes) {
                    add_code_values_shapes[panels - 1][heads - 1](&t);
                } else {
                    add_float_values_shapes[panels - 1][heads - 1](&t);
                }
            }
        }
    }
}

// One segment of the rows of a group, of which those before `last_segment` are computed next.
static void segment(workplace *w, const row_group *g, int64_t number, int64_t last_segment) {
    const attention_call *call = w->call;
    int64_t last = g->first_row + g->rows - 1;
    int64_t end = min64(visible_keys(call, last), (number + 1) * SEGMENT_KEYS);
    int64_t end_ahead = min64(visible_keys(call, last), last_segment * SEGMENT_KEYS);
    for (int64_t r = 0; r < g->rows; r++) {
        begin_states(w, group_states(call, g, r));
    }
    for (int64_t rank = number * SEGMENT_KEYS; rank < end; rank += TILE_KEYS) {
        gather(w, last, rank, min64(TILE_KEYS, end - rank));
        look_ahead(w, last, rank + TILE_KEYS, end_ahead);
        for (int64_t r = 0; r < g->rows; r++) {
            int64_t count = tile_keys(w, g, r, rank);
            if (count > 0) {
                score(w, r, g->first_row + r);
                weigh(w, r, group_states(call, g, r), count);
            }
        }
        add_tile(w, g, rank);
    }
}

static rounded_rows rounded_queries(const attention_call *call, uint8_t **scratch, int64_t width) {
    int64_t rows = GROUP_ROWS * call->heads;
    int64_t stride = whole_steps(width, 64);
    return (rounded_rows){take(scratch, rows * stride), stride, take(scratch, rows * 4), 1,
                          take(scratch, rows * (1 + stride / 32) * 4), 1 + stride / 32};
}

static void round_queries(workplace *w, int64_t first_row, int64_t rows) {
    const attention_call *call = w->call;
    for (int64_t row = 0; row < rows; row++) {
        for (int64_t h = w->heads.from; h < w->heads.to; h++) {
            int64_t i = row * call->heads + h;
            const float *query = call->query + (first_row * call->heads + i) * (call->kv_rank + call->rope);
            round_into(&w->latent_query, i, query, 0, call->kv_rank);
            round_into(&w->rope_query, i, query + call->kv_rank, 0, call->rope);
        }
    }
}

static workplace prepare(const attention_call *call, int32_t worker, uint8_t **scratch) {
    workplace w;
    w.heads = (head_range){0, call->heads};
    int64_t width = call->kv_rank + call->rope;
    *scratch = call->scratch + worker * call->scratch_bytes;
    w.call = call;
    w.width = padded(call->kv_rank);
    w.count = 0;
    w.wide = take(scratch, TILE_KEYS * whole_steps(width, LANES) * 4);
    w.spare = (uint8_t *) w.wide;
    w.latent_panels = take(scratch, TILE_KEYS * whole_steps(width, LANES) * 4);
    w.rope_panels = take(scratch, TILE_KEYS * whole_steps(call->rope, 64));
    w.values = take(scratch, TILE_PANELS * TILE_KEYS * LANES * 4);
    w.scores = take(scratch, GROUP_ROWS * call->heads * TILE_KEYS * 4);
    w.factors = take(scratch, GROUP_ROWS * padded(call->heads) * 4);
    w.result = take(scratch, w.width * 4);
    w.latent_query = rounded_queries(call, scratch, call->kv_rank);
    w.rope_query = rounded_queries(call, scratch, call->rope);
    return w;
}

void FN(attention)(const attention_call *call, int32_t chunk, int32_t worker) {
    const int32_t *c = call->chunks + 6 * chunk;
    int64_t first_row = c[0], rows = c[1], first = c[2], segments = c[3];
    uint8_t *scratch;
    workplace w = prepare(call, worker, &scratch);
    w.heads = (head_range){c[4], c[5]};
    if (call->latent.format == KV_INT8) {
        round_queries(&w, first_row, rows);
    }
    if (!call->whole) {
        for (int64_t s = first; s < first + segments; s++) {
            float *states = call->states + (first_row * call->segments + s) * call->state_floats;
            segment(&w, &(row_group){first_row, rows, states}, s, first + segments);
        }
        return;
    }
    float *one = take(&scratch, GROUP_ROWS * call->state_floats * 4);
    if (segments == 1) {
        segment(&w, &(row_group){first_row, rows, one}, first, first + 1);
        for (int64_t r = 0; r < rows; r++) {
            finish(&w, states_at(call, one + r * call->state_floats), first_row + r);
        }
        return;
    }
    float *joined = take(&scratch, GROUP_ROWS * call->state_floats * 4);
    for (int64_t r = 0; r < rows; r++) {
        clear_states(&w, states_at(call, joined + r * call->state_floats));
    }
    for (int64_t s = first; s < first + segments; s++) {
        segment(&w, &(row_group){first_row, rows, one}, s, first + segments);
        for (int64_t r = 0; r < rows; r++) {
            if (visible_keys(call, first_row + r) > s * SEGMENT_KEYS) {
                join(&w, states_at(call, joined + r * call->state_floats),
                     states_at(call, one + r * call->state_floats));
            }
        }
    }
    for (int64_t r = 0; r < rows; r++) {
        finish(&w, states_at(call, joined + r * call->state_floats), first_row + r);
    }
}

// Joins the segments of split rows: a chunk is a row, or some heads of one.
void FN(attention_join)(const attention_call *call, int32_t chunk, int32_t worker) {
    int64_t row = chunk / call->join_parts, part = chunk % call->join_parts;
    uint8_t *scratch;
    workplace w = prepare(call, worker, &scratch);
    w.heads = (head_range){call->heads * part / call->join_parts, call->heads * (part + 1) / call->join_parts};
    head_states joined = states_at(call, take(&scratch, call->state_floats * 4));
    clear_states(&w, joined);
    for (int64_t s = 0; s * SEGMENT_KEYS < visible_keys(call, row); s++) {
        join(&w, joined, states_at(call, call->states + (row * call->segments + s) * call->state_floats));
    }
    finish(&w, joined, row);
}

// Bytes a worker needs.
int64_t FN(attention_scratch)(const attention_call *call) {
    uint8_t *scratch = 0;
    attention_call sized = *call;
    sized.scratch = 0;
    sized.scratch_bytes = 0;
    prepare(&sized, 0, &scratch);
    take(&scratch, GROUP_ROWS * call->state_floats * 4);
    take(&scratch, GROUP_ROWS * call->state_floats * 4);
    return (int64_t) (intptr_t) scratch;
}
