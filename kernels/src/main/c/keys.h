// A tile of up to 64 cached keys, gathered and turned so that keys lie in lanes.
#ifndef MILLRACE_KEYS_H
#define MILLRACE_KEYS_H

#include "rows.h"

enum { KEY_PANELS = TILE_KEYS / LANES };

INLINE int64_t whole_steps(int64_t n, int64_t step) { return (n + step - 1) / step * step; }

// Takes the next bytes of a worker's memory, in steps of 64.
INLINE void *take(uint8_t **scratch, int64_t bytes) {
    void *taken = *scratch;
    *scratch += whole_steps(bytes, 64);
    return taken;
}

// Turns `count` rows of `width` 32-bit values to panels [KEY_PANELS][whole_steps(width, 16)][16], flipping some bits.
// Rows may be read up to the next whole step; missing rows repeat the last one.
INLINE void turn(const uint8_t *const *rows, int64_t count, int64_t width, uint32_t flip, uint8_t *panels) {
    int64_t steps = (width + LANES - 1) / LANES;
    for (int64_t p = 0; p * LANES < count; p++) {
        for (int64_t s = 0; s < steps; s++) {
            const void *from[LANES];
            for (int64_t j = 0; j < LANES; j++) {
                from[j] = rows[min64(p * LANES + j, count - 1)] + s * 64;
            }
            transpose(from, flip, panels + (p * steps + s) * LANES * 64);
        }
    }
}

// Rows as floats [TILE_KEYS][whole_steps(width, 16)], zeros behind the width.
INLINE void widen_rows(const uint8_t *const *rows, int64_t count, int64_t format, int64_t width, float *wide) {
    int64_t step = whole_steps(width, LANES);
    for (int64_t j = 0; j < count; j++) {
        float *to = wide + j * step;
        if (format == KV_F32) {
            memcpy(to, rows[j], (size_t) width * sizeof(float));
        } else {
            int64_t i = 0;
            for (; i + LANES <= width; i += LANES) {
                store(to + i, load_bf16((const uint16_t *) rows[j] + i));
            }
            if (i < width) {
                uint16_t rest[LANES] = {0};
                memcpy(rest, rows[j] + 2 * i, (size_t) (width - i) * sizeof(uint16_t));
                store(to + i, load_bf16(rest));
            }
        }
        memset(to + width, 0, (size_t) (step - width) * sizeof(float));
    }
}


// Turns rows of codes to panels [KEY_PANELS][whole_steps(width, 64) / 4][16][4] of codes with offset 128; code 0 behind
// the width.
//
// spare: [TILE_KEYS][whole_steps(width, 64)], for rows that are no whole steps
INLINE void turn_codes(const uint8_t *const *rows, int64_t count, int64_t width, uint8_t *spare, uint8_t *panels) {
    const uint32_t offset = 0x80808080u;
    int64_t step = whole_steps(width, 64);
    if (step == width) {
        turn(rows, count, width / 4, offset, panels);
        return;
    }
    const uint8_t *whole[TILE_KEYS];
    for (int64_t j = 0; j < count; j++) {
        memcpy(spare + j * step, rows[j], (size_t) width);
        memset(spare + j * step + width, 0, (size_t) (step - width));
        whole[j] = spare + j * step;
    }
    turn(whole, count, step / 4, offset, panels);
}

// Pointers to rows `step` bytes apart.
INLINE void point(const uint8_t *from, int64_t step, int64_t count, const uint8_t **rows) {
    for (int64_t j = 0; j < count; j++) {
        rows[j] = from + j * step;
    }
}

#endif
