// Register tiles: up to TILE_ROWS rows of activations times TILE_PANELS panels of 16 outputs. Every sum runs over the
// inputs in order in its own lane, so it is the same in every tile shape.
#ifndef MILLRACE_TILES_H
#define MILLRACE_TILES_H

#include "lanes.h"

// Loops over the cells of a tile are flat and have constant bounds after inlining: this compiler unrolls innermost loops
// alone before it decides what lives in registers.
#define UNROLL _Pragma("GCC unroll 24")
// Fetches the line `at` into the second level of caches: streams that are fetched into the first, also those marked as read
// once, stayed below what memory gives on Zen 4 (docs/benchmarks.md). A function that does nothing else must be INLINE:
// this compiler takes its calls for having no effect and drops them.
#define FETCH(at) __builtin_prefetch(at, 0, 2)
// Fetches the line `at`, which has to stay cached while many others pass through.
#define FETCH_TO_KEEP(at) __builtin_prefetch(at, 0, 3)
#define CELLS (TILE_ROWS * TILE_PANELS)

// Rows of a tile, so that all tiles of `rows` are nearly of one size.
INLINE int64_t even_step(int64_t rows, int64_t most) {
    int64_t tiles = (rows + most - 1) / most;
    return (rows + tiles - 1) / tiles;
}

// What is needed soon, to be fetched line by line while a tile is computed: from so many streams, `step` bytes apart, at
// most as many as the tile has panels.
typedef struct {
    const uint8_t *from;
    int64_t step;
    int64_t streams;
} lines_ahead;

#define NOTHING_AHEAD ((lines_ahead){0, 0, 0})

INLINE void fetch_lines(int panels, lines_ahead ahead, int64_t at) {
    UNROLL for (int p = 0; p < panels; p++) {
        if (p < ahead.streams) {
            FETCH(ahead.from + p * ahead.step + at);
        }
    }
}

// y[r, p] += sum over k of x[r][k] * w[p][k][lane], cell r * panels + p; w: float panels [depth][16], so many
// elements from one to the next.
INLINE void tile_f32(int rows, int panels, const float *const *x, const float *w, int64_t panel_floats, int64_t depth,
                     lines_ahead ahead, floats *acc) {
    for (int64_t k = 0; k < depth; k++) {
        fetch_lines(panels, ahead, k * 64);
        floats column[TILE_PANELS];
        UNROLL for (int p = 0; p < panels; p++) {
            column[p] = load(w + p * panel_floats + k * LANES);
        }
        UNROLL for (int i = 0; i < rows * panels; i++) {
            acc[i] = fma_lanes(all(x[i / panels][k]), column[i % panels], acc[i]);
        }
    }
}

// The same with bfloat16 panels [depth / 2][16][2].
INLINE void tile_bf16(int rows, int panels, const float *const *x, const uint16_t *w, int64_t panel_elements,
                      int64_t depth, floats *acc) {
    for (int64_t k = 0; k < depth; k += 2) {
        floats column[TILE_PANELS];
        UNROLL for (int p = 0; p < panels; p++) {
            column[p] = load_bf16_even(w + p * panel_elements + k * LANES);
        }
        UNROLL for (int i = 0; i < rows * panels; i++) {
            acc[i] = fma_lanes(all(x[i / panels][k]), column[i % panels], acc[i]);
        }
        if (k + 1 == depth) {
            break;
        }
        UNROLL for (int p = 0; p < panels; p++) {
            column[p] = load_bf16_odd(w + p * panel_elements + k * LANES);
        }
        UNROLL for (int i = 0; i < rows * panels; i++) {
            acc[i] = fma_lanes(all(x[i / panels][k + 1]), column[i % panels], acc[i]);
        }
    }
}

// acc += codes of x[r] . (codes of w[p] + W8_OFFSET); w: panels [quads][16][4].
INLINE void tile_w8(int rows, int panels, const int8_t *const *x, const uint8_t *w, int64_t panel_bytes, int64_t quads,
                    lines_ahead ahead, ints *acc) {
    for (int64_t q = 0; q < quads; q++) {
        fetch_lines(panels, ahead, q * 64);
        codes column[TILE_PANELS];
        UNROLL for (int p = 0; p < panels; p++) {
            column[p] = load_codes(w + p * panel_bytes + q * 64);
        }
        UNROLL for (int i = 0; i < rows * panels; i++) {
            ADD_W8(acc[i], column[i % panels], all_quad(x[i / panels] + 4 * q));
        }
    }
}

// One group of a W4A8 panel: acc += codes of x[r] . (codes of w[p] + 8); w: [octets][16][4] pairs of nibbles.
INLINE void tile_w4(int rows, int panels, const int8_t *const *x, int64_t first, const uint8_t *w, int64_t panel_bytes,
                    int64_t octets, lines_ahead ahead, ints *acc) {
    for (int64_t o = 0; o < octets; o++) {
        fetch_lines(panels, ahead, o * 64);
        const uint8_t *pairs = w + o * 64;
        codes column[TILE_PANELS];
        UNROLL for (int p = 0; p < panels; p++) {
            column[p] = low_nibbles(load_codes(pairs + p * panel_bytes));
        }
        UNROLL for (int i = 0; i < rows * panels; i++) {
            ADD_W4(acc[i], column[i % panels], all_quad(x[i / panels] + first + 8 * o));
        }
        UNROLL for (int p = 0; p < panels; p++) {
            column[p] = high_nibbles(load_codes(pairs + p * panel_bytes));
        }
        UNROLL for (int i = 0; i < rows * panels; i++) {
            ADD_W4(acc[i], column[i % panels], all_quad(x[i / panels] + first + 8 * o + 4));
        }
    }
}

// Makes a function NAME_rows_panels of each tile shape, and the table NAME[panels - 1][rows - 1] of them. A function of
// its own, not inlined: only then does this compiler keep a large tile in registers.
#define TILE_FUNCTION(NAME, ARGUMENT, rows, panels) \
    static __attribute__((noinline)) void NAME##_##rows##_##panels(ARGUMENT t) { NAME(t, rows, panels); }

#if TILE_ROWS == 6
#define TILE_SHAPES_OF(M, NAME, ARGUMENT, panels) \
    M(NAME, ARGUMENT, 1, panels) M(NAME, ARGUMENT, 2, panels) M(NAME, ARGUMENT, 3, panels) \
    M(NAME, ARGUMENT, 4, panels) M(NAME, ARGUMENT, 5, panels) M(NAME, ARGUMENT, 6, panels)
#define TILE_SHAPES(M, NAME, ARGUMENT) \
    TILE_SHAPES_OF(M, NAME, ARGUMENT, 1) TILE_SHAPES_OF(M, NAME, ARGUMENT, 2) \
    TILE_SHAPES_OF(M, NAME, ARGUMENT, 3) TILE_SHAPES_OF(M, NAME, ARGUMENT, 4)
#elif TILE_ROWS == 3
#define TILE_SHAPES(M, NAME, ARGUMENT) M(NAME, ARGUMENT, 1, 1) M(NAME, ARGUMENT, 2, 1) M(NAME, ARGUMENT, 3, 1)
#else
#define TILE_SHAPES(M, NAME, ARGUMENT) M(NAME, ARGUMENT, 1, 1) M(NAME, ARGUMENT, 2, 1)
#endif

#define TILE_ENTRY(NAME, ARGUMENT, rows, panels) [panels - 1][rows - 1] = NAME##_##rows##_##panels,

#define TILE_TABLE(NAME, ARGUMENT) \
    TILE_SHAPES(TILE_FUNCTION, NAME, ARGUMENT) \
    static void (*const NAME##_shapes[TILE_PANELS][TILE_ROWS])(ARGUMENT) = {TILE_SHAPES(TILE_ENTRY, NAME, ARGUMENT)};

#endif
