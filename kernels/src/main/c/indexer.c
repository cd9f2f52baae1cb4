// The lightning indexer: scores of a tile of keys for a group of rows, and the best of each row, as they stream by.
#include "best.h"
#include "keys.h"
#include "tiles.h"

typedef struct {
    const indexer_call *call;
    float *wide;
    uint8_t *spare, *panels;
    rounded_rows query;    // int8 keys: rows * heads
    float *head_weights;   // [rows][heads], times the scales of the queries
    float key_scales[TILE_KEYS];
    const uint8_t *ahead;  // keys of the next tile, fetched while this one is computed
    int64_t ahead_bytes;
    float scores[TILE_KEYS];
    best_list best[GROUP_ROWS];
} workplace;

typedef struct {
    const workplace *w;
    int64_t group_row, row, head;
    float *scores;         // [TILE_KEYS], summed up head by head
} score_place;

// What the products of the heads from `head` on fetch of the keys ahead: a line in each of `steps` steps, for all rows of
// a group once.
INLINE lines_ahead ahead_of(const score_place *t, int64_t steps) {
    int64_t from = t->head / TILE_ROWS * steps * 64;
    if (t->group_row > 0 || from >= t->w->ahead_bytes) {
        return NOTHING_AHEAD;
    }
    return (lines_ahead){t->w->ahead + from, 0, 1};
}

// scores += weight of the head * max(0, product), head by head; a product that is no number stays one.
INLINE void add_heads(const score_place *t, int rows, int panels, int64_t from, const floats *products) {
    const float *weights = t->w->head_weights + t->group_row * t->w->call->heads + t->head;
    UNROLL for (int p = 0; p < panels; p++) {
        floats sum = load(t->scores + (from + p) * LANES);
        UNROLL for (int r = 0; r < rows; r++) {
            sum = fma_lanes(all(weights[r]), maximum(zero(), products[r * panels + p]), sum);
        }
        store(t->scores + (from + p) * LANES, sum);
    }
}

INLINE void float_heads(const score_place *t, int rows, int panels) {
    const indexer_call *call = t->w->call;
    const float *x[TILE_ROWS];
    floats acc[CELLS];
    int64_t panel_floats = whole_steps(call->dim, LANES) * LANES;
    const lines_ahead ahead = ahead_of(t, call->dim);
    UNROLL for (int r = 0; r < rows; r++) {
        x[r] = call->query + (t->row * call->heads + t->head + r) * call->dim;
    }
    for (int64_t from = 0; from < KEY_PANELS; from += panels) {
        UNROLL for (int i = 0; i < rows * panels; i++) {
            acc[i] = zero();
        }
        const float *keys = (const float *) t->w->panels + from * panel_floats;
        tile_f32(rows, panels, x, keys, panel_floats, call->dim, from == 0 ? ahead : NOTHING_AHEAD, acc);
        add_heads(t, rows, panels, from, acc);
    }
}

INLINE void int8_heads(const score_place *t, int rows, int panels) {
    const rounded_rows *query = &t->w->query;
    int64_t quads = query->stride / 4;
    const int8_t *x[TILE_ROWS];
    int32_t start[TILE_ROWS];
    const lines_ahead ahead = ahead_of(t, quads);
    ints acc[CELLS];
    floats products[CELLS];
    UNROLL for (int r = 0; r < rows; r++) {
        int64_t at = t->group_row * t->w->call->heads + t->head + r;
        x[r] = query->codes + at * query->stride;
        start[r] = -W8_OFFSET * query->sums[at * query->sum_step];
    }
    for (int64_t from = 0; from < KEY_PANELS; from += panels) {
        UNROLL for (int i = 0; i < rows * panels; i++) {
            acc[i] = all_ints(start[i / panels]);
        }
        const uint8_t *keys = t->w->panels + from * quads * 64;
        tile_w8(rows, panels, x, keys, quads * 64, quads, from == 0 ? ahead : NOTHING_AHEAD, acc);
        UNROLL for (int i = 0; i < rows * panels; i++) {
            products[i] = to_floats(acc[i]);
        }
        add_heads(t, rows, panels, from, products);
    }
}

TILE_TABLE(float_heads, const score_place *)
TILE_TABLE(int8_heads, const score_place *)

// Rows of a page that lie one after the other, from slot on, at most `count`.
INLINE int64_t run_of(int64_t slot, int64_t count) { return min64(count, PAGE_ROWS - slot % PAGE_ROWS); }

static void gather(workplace *w, int64_t row, int64_t rank, int64_t count) {
    const indexer_call *call = w->call;
    const int32_t *table = (const int32_t *) call->batch.tables[row];
    const uint8_t *keys[TILE_KEYS];
    int64_t run;
    for (int64_t j = 0; j < count; j += run) {
        int64_t slot = call->batch.first_slot + rank + j;
        run = run_of(slot, count - j);
        point(row_of(&call->keys, table, slot), row_bytes(&call->keys), run, keys + j);
        if (call->keys.format == KV_INT8) {
            memcpy(w->key_scales + j, scales_of(&call->keys, table, slot), (size_t) run * sizeof(float));
        }
    }
    if (call->keys.format == KV_INT8) {
        turn_codes(keys, count, call->dim, w->spare, w->panels);
    } else {
        const uint8_t *rows[TILE_KEYS];
        widen_rows(keys, count, call->keys.format, call->dim, w->wide);
        point((const uint8_t *) w->wide, whole_steps(call->dim, LANES) * 4, count, rows);
        turn(rows, count, call->dim, 0, w->panels);
    }
}

// The keys from a rank on, which are computed next; they lie one after the other as far as their page goes.
static void look_ahead(workplace *w, int64_t row, int64_t rank, int64_t end) {
    const indexer_call *call = w->call;
    w->ahead_bytes = 0;
    if (rank < end) {
        const int32_t *table = (const int32_t *) call->batch.tables[row];
        int64_t slot = call->batch.first_slot + rank, run = run_of(slot, end - rank);
        w->ahead = row_of(&call->keys, table, slot);
        w->ahead_bytes = run * row_bytes(&call->keys);
        int int8 = call->keys.format == KV_INT8;
        for (int64_t j = 0; int8 && j < run; j += 64 / (int64_t) sizeof(float)) {
            FETCH(scales_of(&call->keys, table, slot) + j);
        }
        // The products of few heads have no step for each line.
        int64_t steps = int8 ? w->query.stride / 4 : call->dim;
        int64_t at = whole_steps(call->heads, TILE_ROWS) / TILE_ROWS * steps * 64;
        for (; at < w->ahead_bytes; at += 64) {
            FETCH(w->ahead + at);
        }
    }
}

static void score(workplace *w, int64_t group_row, int64_t row) {
    const indexer_call *call = w->call;
    memset(w->scores, 0, sizeof w->scores);
    for (int64_t head = 0; head < call->heads; head += TILE_ROWS) {
        int64_t heads = min64(TILE_ROWS, call->heads - head);
        const score_place t = {w, group_row, row, head, w->scores};
        if (call->keys.format == KV_INT8) {
            int8_heads_shapes[TILE_PANELS - 1][heads - 1](&t);
        } else {
            float_heads_shapes[TILE_PANELS - 1][heads - 1](&t);
        }
    }
    if (call->keys.format == KV_INT8) {
        for (int64_t j = 0; j < TILE_KEYS; j += LANES) {
            store(w->scores + j, mul(load(w->scores + j), load(w->key_scales + j)));
        }
    }
}

static workplace prepare(const indexer_call *call, int32_t worker, uint8_t **scratch) {
    workplace w;
    *scratch = call->scratch + worker * call->scratch_bytes;
    int64_t rows = GROUP_ROWS * call->heads;
    int64_t stride = whole_steps(call->dim, 64);
    w.call = call;
    w.wide = take(scratch, TILE_KEYS * stride * 4);
    w.spare = (uint8_t *) w.wide;
    w.panels = take(scratch, TILE_KEYS * stride * 4);
    w.query = (rounded_rows){take(scratch, rows * stride), stride, take(scratch, rows * 4), 1,
                             take(scratch, rows * (1 + stride / 32) * 4), 1 + stride / 32};
    w.head_weights = take(scratch, rows * 4);
    memset(w.key_scales, 0, sizeof w.key_scales);
    int64_t capacity = best_capacity(call->top_k);
    for (int64_t r = 0; r < GROUP_ROWS; r++) {
        float *scores = take(scratch, capacity * 4);
        w.best[r] = (best_list){call->top_k, capacity, 0, 0, 0, scores, take(scratch, capacity * 4)};
    }
    return w;
}

static void take_queries(workplace *w, int64_t first_row, int64_t rows) {
    const indexer_call *call = w->call;
    for (int64_t i = 0; i < rows * call->heads; i++) {
        int64_t at = first_row * call->heads + i;
        w->head_weights[i] = call->head_weights[at];
        if (call->keys.format == KV_INT8) {
            round_into(&w->query, i, call->query + at * call->dim, 0, call->dim);
            w->head_weights[i] *= w->query.scales[i];
        }
    }
}

static void write_selected(const indexer_call *call, int64_t row, best_list *best) {
    cut_to_best(best);
    for (int64_t i = 0; i < best->count; i++) {
        call->selected[row * call->top_k + i] = (int32_t) (call->batch.first_slot + best->ranks[i]);
    }
}

static void write_candidates(const indexer_call *call, int64_t row, int64_t segment, best_list *best) {
    cut_to_best(best);
    int64_t list = row * call->segments + segment;
    call->counts[list] = (int32_t) best->count;
    memcpy(call->scores + list * call->top_k, best->scores, (size_t) best->count * sizeof(float));
    memcpy(call->candidates + list * call->top_k, best->ranks, (size_t) best->count * sizeof(int32_t));
}

void FN(indexer)(const indexer_call *call, int32_t chunk, int32_t worker) {
    const int32_t *c = call->chunks + 5 * chunk;
    int64_t first_row = c[0], rows = c[1], end = (int64_t) c[2] + c[3];
    uint8_t *scratch;
    workplace w = prepare(call, worker, &scratch);
    take_queries(&w, first_row, rows);
    for (int64_t rank = c[2]; rank < end; rank += TILE_KEYS) {
        int64_t keys = min64(TILE_KEYS, end - rank);
        gather(&w, first_row, rank, keys);
        look_ahead(&w, first_row, rank + TILE_KEYS, end);
        for (int64_t r = 0; r < rows; r++) {
            int64_t visible = call->batch.slots[first_row + r] - call->batch.first_slot + 1;
            int64_t count = min64(keys, visible - rank);
            if (count > 0) {
                score(&w, r, first_row + r);
                offer(&w.best[r], w.scores, count, rank);
            }
        }
    }
    for (int64_t r = 0; r < rows; r++) {
        if (call->split) {
            write_candidates(call, first_row + r, c[4], &w.best[r]);
        } else {
            write_selected(call, first_row + r, &w.best[r]);
        }
    }
}

// Joins the candidates of split rows: a chunk is a row.
void FN(indexer_join)(const indexer_call *call, int32_t chunk, int32_t worker) {
    uint8_t *scratch;
    workplace w = prepare(call, worker, &scratch);
    best_list *best = &w.best[0];
    for (int64_t s = 0; s < call->segments; s++) {
        int64_t list = chunk * call->segments + s;
        const int64_t at = list * call->top_k;
        offer_ranked(best, call->scores + at, call->candidates + at, call->counts[list]);
    }
    write_selected(call, chunk, best);
}

// Bytes a worker needs.
int64_t FN(indexer_scratch)(const indexer_call *call) {
    uint8_t *scratch = 0;
    indexer_call sized = *call;
    sized.scratch = 0;
    sized.scratch_bytes = 0;
    prepare(&sized, 0, &scratch);
    return (int64_t) (intptr_t) scratch;
}
