// Products with packed weights, in every format.
#include "calls.h"
#include "tiles.h"

typedef struct {
    const linear_part *part;
    int64_t row;         // first row of the tile
    const uint8_t *w;    // first panel of the tile
    int64_t output;      // first output of the tile
} tile_place;

INLINE int64_t source_row(const linear_part *part, int64_t row) {
    return part->gather ? part->gather[row] : row;
}

INLINE void store_outputs(const tile_place *t, int row, int panel, floats value) {
    const linear_part *part = t->part;
    int64_t output = t->output + panel * LANES;
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
        tile_bf16(rows, panels, x, (const uint16_t *) t->w, part->panel_bytes / 2, part->depth, acc);
    } else {
        tile_f32(rows, panels, x, (const float *) t->w, part->panel_bytes / 4, part->depth, acc);
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
    tile_w8(rows, panels, x, t->w, part->panel_bytes, part->depth / 4, acc);
    floats by_output[TILE_PANELS];
    UNROLL for (int p = 0; p < panels; p++) {
        by_output[p] = part->scales ? load(part->scales + t->output + p * LANES) : all(1.0f);
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

INLINE void w4_tile(const tile_place *t, int rows, int panels) {
    const linear_part *part = t->part;
    const rounded_rows *in = &part->rounded;
    const int8_t *x[TILE_ROWS];
    const int32_t *sums[TILE_ROWS];
    float total[CELLS][LANES];
    UNROLL for (int r = 0; r < rows; r++) {
        int64_t source = source_row(part, t->row + r);
        x[r] = in->codes + source * in->stride;
        sums[r] = in->sums + source * in->sum_step + 1;
    }
    UNROLL for (int i = 0; i < rows * panels; i++) {
        store(total[i], zero());
    }
    int64_t octets = part->group / 8;
    for (int64_t g = 0; g < part->depth / part->group; g++) {
        int32_t start[TILE_ROWS];
        for (int r = 0; r < rows; r++) {
            start[r] = group_sum(x[r], sums[r], g * part->group, part->group);
        }
        ints acc[CELLS];
        UNROLL for (int i = 0; i < rows * panels; i++) {
            acc[i] = all_ints(-8 * start[i / panels]);
        }
        tile_w4(rows, panels, x, g * part->group, t->w + g * octets * 64, part->panel_bytes, octets, acc);
        floats scale[TILE_PANELS];
        UNROLL for (int p = 0; p < panels; p++) {
            const uint8_t *scales = t->w + p * part->panel_bytes + part->group_scales + g * LANES * 2;
            scale[p] = load_bf16((const uint16_t *) scales);
        }
        UNROLL for (int i = 0; i < rows * panels; i++) {
            store(total[i], fma_lanes(to_floats(acc[i]), scale[i % panels], load(total[i])));
        }
    }
    UNROLL for (int i = 0; i < rows * panels; i++) {
        float scale = in->scales[source_row(part, t->row + i / panels) * in->scale_step];
        store_outputs(t, i / panels, i % panels, mul(load(total[i]), all(scale)));
    }
}

INLINE void f32_tile(const tile_place *t, int rows, int panels) { float_tile(t, rows, panels, 0); }
INLINE void bf16_tile(const tile_place *t, int rows, int panels) { float_tile(t, rows, panels, 1); }

TILE_TABLE(f32_tile, const tile_place *)
TILE_TABLE(bf16_tile, const tile_place *)
TILE_TABLE(w8_tile, const tile_place *)
TILE_TABLE(w4_tile, const tile_place *)

static void tile(const linear_part *part, int64_t row, int64_t panel, int64_t rows, int64_t panels) {
    const tile_place t = {part, row, part->w + panel * part->panel_bytes, panel * LANES};
    switch (part->format) {
        case FORMAT_F32: f32_tile_shapes[panels - 1][rows - 1](&t); break;
        case FORMAT_BF16: bf16_tile_shapes[panels - 1][rows - 1](&t); break;
        case FORMAT_W8A8: w8_tile_shapes[panels - 1][rows - 1](&t); break;
        default: w4_tile_shapes[panels - 1][rows - 1](&t); break;
    }
}

// Rows of a tile, so that all tiles of `rows` are nearly of one size.
INLINE int64_t even_step(int64_t rows, int64_t most) {
    int64_t tiles = (rows + most - 1) / most;
    return (rows + tiles - 1) / tiles;
}

// A chunk: all rows times panels_per_chunk panels of one part. The panels stay in the cache while the rows pass.
void FN(linear)(const linear_call *call, int32_t chunk, int32_t worker) {
    (void) worker;
    int64_t low = 0, high = call->parts - 1;
    while (low < high) {
        int64_t middle = (low + high + 1) / 2;
        if (call->part[middle].first_chunk <= chunk) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    const linear_part *part = &call->part[low];
    int64_t from = (chunk - part->first_chunk) * call->panels_per_chunk;
    int64_t end = min64(from + call->panels_per_chunk, (part->outputs + LANES - 1) / LANES);
    int64_t step = even_step(part->rows, TILE_ROWS);
    for (int64_t panel = from; panel < end; panel += TILE_PANELS) {
        int64_t panels = min64(TILE_PANELS, end - panel);
        for (int64_t row = 0; row < part->rows; row += step) {
            tile(part, row, panel, min64(step, part->rows - row), panels);
        }
    }
}
