// Products with packed weights, in every format.
#include "calls.h"
#include "tiles.h"

typedef struct {
    const linear_part *part;
    int64_t row;         // first row of the tile
    const uint8_t *w;    // first panel of the tile
    int64_t output;      // first output of the tile
    int64_t spread;      // panels from one of the tile to the next
    lines_ahead ahead;   // what to fetch meanwhile
} tile_place;

// Bytes from one panel of the tile to the next.
INLINE int64_t panel_step(const tile_place *t) { return t->spread * t->part->panel_bytes; }

// First output of a panel of the tile.
INLINE int64_t output_of(const tile_place *t, int panel) { return t->output + panel * t->spread * LANES; }

INLINE int64_t source_row(const linear_part *part, int64_t row) {
    return part->gather ? part->gather[row] : row;
}

INLINE void store_outputs(const tile_place *t, int row, int panel, floats value) {
    const linear_part *part = t->part;
    int64_t output = output_of(t, panel);
    store_to(part->y + (t->row + row) * part->y_step + output, value, part->outputs - output);
}

INLINE void float_tile(const tile_place *t, int rows, int panels, int bf16) {
    const linear_part *part = t->part;
    const float *x[TILE_ROWS];
    floats acc[CELLS];
    UNROLL for (int r = 0; r < rows; r++) {
        x[r] = part->x + source_row(part, t->row + r) * part->x_step;
    }
    UNROLL for (int i = 0; i < rows * panels; i++) {
        acc[i] = zero();
    }
    if (bf16) {
        tile_bf16(rows, panels, x, (const uint16_t *) t->w, panel_step(t) / 2, part->depth, acc);
    } else {
        tile_f32(rows, panels, x, (const float *) t->w, panel_step(t) / 4, part->depth, NOTHING_AHEAD, acc);
    }
    UNROLL for (int i = 0; i < rows * panels; i++) {
        store_outputs(t, i / panels, i % panels, acc[i]);
    }
}

INLINE void w8_tile(const tile_place *t, int rows, int panels) {
    const linear_part *part = t->part;
    const rounded_rows *in = &part->rounded;
    const int8_t *x[TILE_ROWS];
    float scale[TILE_ROWS];
    int32_t start[TILE_ROWS];
    ints acc[CELLS];
    UNROLL for (int r = 0; r < rows; r++) {
        int64_t source = source_row(part, t->row + r);
        x[r] = in->codes + source * in->stride;
        scale[r] = in->scales[source * in->scale_step];
        start[r] = -W8_OFFSET * in->sums[source * in->sum_step];
    }
    UNROLL for (int i = 0; i < rows * panels; i++) {
        acc[i] = all_ints(start[i / panels]);
    }
    tile_w8(rows, panels, x, t->w, panel_step(t), part->depth / 4, t->ahead, acc);
    floats by_output[TILE_PANELS];
    UNROLL for (int p = 0; p < panels; p++) {
        by_output[p] = part->scales ? load(part->scales + output_of(t, p)) : all(1.0f);
    }
    UNROLL for (int i = 0; i < rows * panels; i++) {
        floats factor = mul(all(scale[i / panels]), by_output[i % panels]);
        store_outputs(t, i / panels, i % panels, mul(to_floats(acc[i]), factor));
    }
}

// Sum of the codes of a group: from the sums of each 32 where groups consist of such.
INLINE int32_t group_sum(const int8_t *codes, const int32_t *sums, int64_t first, int64_t group) {
    int32_t sum = 0;
    if (group % 32 == 0) {
        for (int64_t i = first / 32; i < (first + group) / 32; i++) {
            sum += sums[i];
        }
    } else {
        for (int64_t i = first; i < first + group; i++) {
            sum += codes[i];
        }
    }
    return sum;
}

// A panel of int4 is a row of pairs of groups: the scales of both, a line, then their codes.
INLINE int64_t pair_bytes(int64_t octets) { return 64 + 2 * octets * 64; }

// The groups of a tile of int4, of so many octets each. `octets` is constant after inlining where groups have the usual
// size: loops of four steps are not worth their turns.
INLINE void w4_groups(const tile_place *t, int rows, int panels, int64_t octets, float (*total)[LANES]) {
    const linear_part *part = t->part;
    const rounded_rows *in = &part->rounded;
    const int8_t *x[TILE_ROWS];
    const int32_t *sums[TILE_ROWS];
    UNROLL for (int r = 0; r < rows; r++) {
        int64_t source = source_row(part, t->row + r);
        x[r] = in->codes + source * in->stride;
        sums[r] = in->sums + source * in->sum_step + 1;
    }
    for (int64_t g = 0; g < part->depth / (octets * 8); g++) {
        int64_t pair = g / 2 * pair_bytes(octets), codes = pair + 64 + g % 2 * octets * 64;
        ints acc[CELLS];
        UNROLL for (int i = 0; i < rows * panels; i++) {
            acc[i] = all_ints(-8 * group_sum(x[i / panels], sums[i / panels], g * octets * 8, octets * 8));
        }
        lines_ahead ahead = t->ahead;
        if (g % 2 == 0) {
            fetch_lines(panels, ahead, pair);
        }
        ahead.from += ahead.streams ? codes : 0;
        tile_w4(rows, panels, x, g * octets * 8, t->w + codes, panel_step(t), octets, ahead, acc);
        floats scale[TILE_PANELS];
        UNROLL for (int p = 0; p < panels; p++) {
            scale[p] = load_bf16((const uint16_t *) (t->w + p * panel_step(t) + pair) + g % 2 * LANES);
        }
        UNROLL for (int i = 0; i < rows * panels; i++) {
            store(total[i], fma_lanes(to_floats(acc[i]), scale[i % panels], load(total[i])));
        }
    }
}

INLINE void w4_tile(const tile_place *t, int rows, int panels) {
    const linear_part *part = t->part;
    float total[CELLS][LANES];
    UNROLL for (int i = 0; i < rows * panels; i++) {
        store(total[i], zero());
    }
    if (part->group == 32) {
        w4_groups(t, rows, panels, 4, total);
    } else {
        w4_groups(t, rows, panels, part->group / 8, total);
    }
    UNROLL for (int i = 0; i < rows * panels; i++) {
        float scale = part->rounded.scales[source_row(part, t->row + i / panels) * part->rounded.scale_step];
        store_outputs(t, i / panels, i % panels, mul(load(total[i]), all(scale)));
    }
}

INLINE void f32_tile(const tile_place *t, int rows, int panels) { float_tile(t, rows, panels, 0); }
INLINE void bf16_tile(const tile_place *t, int rows, int panels) { float_tile(t, rows, panels, 1); }

TILE_TABLE(f32_tile, const tile_place *)
TILE_TABLE(bf16_tile, const tile_place *)
TILE_TABLE(w8_tile, const tile_place *)
TILE_TABLE(w4_tile, const tile_place *)

static void tile(const tile_place *t, int64_t rows, int64_t panels) {
    switch (t->part->format) {
        case FORMAT_F32: f32_tile_shapes[panels - 1][rows - 1](t); break;
        case FORMAT_BF16: bf16_tile_shapes[panels - 1][rows - 1](t); break;
        case FORMAT_W8A8: w8_tile_shapes[panels - 1][rows - 1](t); break;
        default: w4_tile_shapes[panels - 1][rows - 1](t); break;
    }
}

INLINE int64_t panels_of(const linear_part *part) { return (part->outputs + LANES - 1) / LANES; }

// Bytes between what a tile reads of a stream and what it fetches.
#define STREAM_AHEAD 1024

// Panels of a chunk with many rows: they stay in the cache while the rows pass.
#define CHUNK_PANELS 4

// Bytes of all parts.
INLINE int64_t bytes_of(const linear_call *call) {
    int64_t bytes = 0;
    for (int64_t i = 0; i < call->parts; i++) {
        bytes += panels_of(&call->part[i]) * call->part[i].panel_bytes;
    }
    return bytes;
}

#define SMALL_PIECE (32 << 10)

// Bytes of a chunk with few rows: every claim of chunks waits for reads before it, but there should be enough of them for
// all threads to end together.
INLINE int64_t piece_bytes(int64_t total, int64_t threads) {
    return min64(256 << 10, total / (8 * threads) + SMALL_PIECE);
}

// Few rows: nothing but memory to wait for. Weights are read in as many streams as a tile has panels, side by side: memory
// gives more to several streams than to one. A band is what one thread is likely to read so, all of a small part or its
// share of a large one; each stream is a run of neighbouring panels. A chunk is a piece of every stream, so that the next
// one goes on where this one ends: streams that start anew wait for memory. A part of so few panels that some threads
// would have none is read in fewer streams. Returns the number of chunks.
INLINE int64_t cut_streams(linear_part *part, int64_t total, int64_t threads) {
    int64_t panels = panels_of(part), bytes = panels * part->panel_bytes;
    int64_t bands = max64(1, (bytes * threads + total / 2) / max64(1, total)), streams = TILE_PANELS;
    if (panels < bands * streams && bytes >= 2 * SMALL_PIECE) {
        streams = max64(1, panels / bands);
    }
    part->streams = streams;
    part->run = (panels + bands * streams - 1) / (bands * streams);
    int64_t piece = piece_bytes(total, threads);
    int64_t pieces = max64(1, (part->run * streams * part->panel_bytes + piece / 2) / piece);
    int64_t step = max64(1, (part->run + pieces - 1) / pieces);
    part->chunk_panels = step * streams;
    int64_t full = panels / (part->run * streams), rest = panels - full * part->run * streams;
    int64_t rest_run = (rest + streams - 1) / streams;
    return full * ((part->run + step - 1) / step) + (rest_run + step - 1) / step;
}

// Cuts a call into chunks; their number.
int64_t FN(linear_chunks)(int64_t address) {
    const linear_call *call = (const linear_call *) address;
    int64_t total = bytes_of(call), chunks = 0;
    for (int64_t i = 0; i < call->parts; i++) {
        linear_part *part = &call->part[i];
        part->first_chunk = chunks;
        if (part->rows <= TILE_ROWS) {
            chunks += cut_streams(part, total, call->threads);
        } else {
            part->chunk_panels = CHUNK_PANELS;
            chunks += (panels_of(part) + CHUNK_PANELS - 1) / CHUNK_PANELS;
        }
    }
    return chunks;
}

INLINE int64_t part_of(const linear_call *call, int32_t chunk) {
    int64_t low = 0, high = call->parts - 1;
    while (low < high) {
        int64_t middle = (low + high + 1) / 2;
        if (call->part[middle].first_chunk <= chunk) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return low;
}

// The panel so many panels on, in this part or, of the same size, in one of the next; null beyond the last.
INLINE const uint8_t *panel_at(const linear_call *call, int64_t number, int64_t panel) {
    const linear_part *part = &call->part[number];
    while (panel >= panels_of(part)) {
        panel -= panels_of(part);
        number++;
        if (number == call->parts || call->part[number].panel_bytes != part->panel_bytes) {
            return 0;
        }
        part = &call->part[number];
    }
    return part->w + panel * part->panel_bytes;
}

// What the next chunk begins with, which this thread is likely to compute next, is fetched by the first tiles of rows: one
// panel or two each.
INLINE lines_ahead chunk_ahead(const linear_call *call, int64_t number, int64_t panel, int64_t tile, int64_t tiles) {
    int64_t share = tiles < TILE_PANELS ? 2 : 1;
    if (tile * share >= TILE_PANELS) {
        return NOTHING_AHEAD;
    }
    const uint8_t *from = panel_at(call, number, panel + CHUNK_PANELS + tile * share);
    return (lines_ahead){from, call->part[number].panel_bytes, from ? share : 0};
}

// A chunk of few rows: a piece of each stream of a band.
static void stream(const linear_part *part, int64_t chunk) {
    int64_t streams = part->streams, step = part->chunk_panels / streams, pieces = (part->run + step - 1) / step;
    int64_t band = chunk / pieces, first = band * part->run * streams;
    int64_t end = min64(first + part->run * streams, panels_of(part));
    int64_t run = (end - first + streams - 1) / streams;
    int64_t from = first + (chunk - band * pieces) * step, to = min64(from + step, first + run);
    // A tile ends with its scales, which lie far from its codes: it would wait for them.
    for (int64_t i = 0; part->scales && i < (to - from) * streams; i++) {
        FETCH_TO_KEEP(part->scales + (from + i / streams + i % streams * run) * LANES);
    }
    for (int64_t panel = from; panel < to; panel++) {
        const uint8_t *w = part->w + panel * part->panel_bytes;
        lines_ahead ahead = {w + STREAM_AHEAD, run * part->panel_bytes, streams};
        const tile_place t = {part, 0, w, panel * LANES, run, ahead};
        tile(&t, part->rows, (end - panel + run - 1) / run);
    }
}

// Rows of a tile where there are many. Totals of int4 lie beside the accumulators of a group and go through memory: of
// six rows they cost more than the weights that are read less often.
#define W4_ROWS 4

INLINE int64_t rows_at_once(const linear_part *part) {
    return even_step(part->rows, part->format == FORMAT_W4A8 ? min64(W4_ROWS, TILE_ROWS) : TILE_ROWS);
}

// A chunk: all rows times some panels of one part. With many rows the panels stay in the cache while the rows pass, and
// memory and arithmetic work at the same time.
void FN(linear)(const linear_call *call, int32_t chunk, int32_t worker) {
    (void) worker;
    int64_t number = part_of(call, chunk);
    const linear_part *part = &call->part[number];
    if (part->rows <= TILE_ROWS) {
        stream(part, chunk - part->first_chunk);
        return;
    }
    int64_t from = (chunk - part->first_chunk) * part->chunk_panels;
    int64_t end = min64(from + part->chunk_panels, panels_of(part));
    int64_t step = rows_at_once(part);
    int64_t tiles = (part->rows + step - 1) / step;
    for (int64_t panel = from; panel < end; panel += TILE_PANELS) {
        for (int64_t i = 0; i < tiles; i++) {
            const uint8_t *w = part->w + panel * part->panel_bytes;
            lines_ahead ahead = chunk_ahead(call, number, panel, i, tiles);
            const tile_place t = {part, i * step, w, panel * LANES, 1, ahead};
            tile(&t, min64(step, part->rows - t.row), min64(TILE_PANELS, end - panel));
        }
    }
}
