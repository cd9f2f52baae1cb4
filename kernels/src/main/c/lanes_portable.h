// Lanes in an array, for any processor: the level every other one is compared with. Fused multiply-add is that of the
// mathematics library where the processor has none: slow, and the same to the bit.

#define INLINE_LANES static inline __attribute__((always_inline))

typedef struct {
    float v[16];
} floats;
typedef struct {
    int32_t v[16];
} ints;

#define TILE_ROWS 2
#define TILE_PANELS 1

#define EACH for (int i = 0; i < 16; i++)

INLINE_LANES floats all(float x) {
    floats r;
    EACH r.v[i] = x;
    return r;
}
INLINE_LANES floats zero(void) { return all(0); }
INLINE_LANES floats load(const float *p) {
    floats r;
    memcpy(r.v, p, sizeof r.v);
    return r;
}
INLINE_LANES void store(float *p, floats x) { memcpy(p, x.v, sizeof x.v); }
INLINE_LANES floats add(floats a, floats b) {
    EACH a.v[i] = a.v[i] + b.v[i];
    return a;
}
INLINE_LANES floats sub(floats a, floats b) {
    EACH a.v[i] = a.v[i] - b.v[i];
    return a;
}
INLINE_LANES floats mul(floats a, floats b) {
    EACH a.v[i] = a.v[i] * b.v[i];
    return a;
}
INLINE_LANES floats divide(floats a, floats b) {
    EACH a.v[i] = a.v[i] / b.v[i];
    return a;
}
INLINE_LANES floats minimum(floats a, floats b) {
    EACH a.v[i] = a.v[i] < b.v[i] ? a.v[i] : b.v[i];
    return a;
}
INLINE_LANES floats maximum(floats a, floats b) {
    EACH a.v[i] = a.v[i] > b.v[i] ? a.v[i] : b.v[i];
    return a;
}
INLINE_LANES floats magnitude(floats a) {
    EACH a.v[i] = fabsf(a.v[i]);
    return a;
}
INLINE_LANES floats fma_lanes(floats a, floats b, floats c) {
    EACH c.v[i] = fmaf(a.v[i], b.v[i], c.v[i]);
    return c;
}

// x where limit <= at, else 0.
INLINE_LANES floats zero_below(floats x, floats at, floats limit) {
    EACH x.v[i] = at.v[i] < limit.v[i] ? 0 : x.v[i];
    return x;
}

// 2^n, given n + 12582912.
INLINE_LANES floats power_of_two(floats shifted) {
    floats r;
    EACH {
        uint32_t bits;
        memcpy(&bits, &shifted.v[i], sizeof bits);
        bits = (bits - (0x4b400000u - 127u)) << 23;
        memcpy(&r.v[i], &bits, sizeof bits);
    }
    return r;
}

INLINE_LANES float sum_lanes(floats x) {
    for (int half = 8; half > 0; half /= 2) {
        for (int i = 0; i < half; i++) x.v[i] += x.v[i + half];
    }
    return x.v[0];
}

INLINE_LANES float largest_lane(floats x) {
    for (int half = 8; half > 0; half /= 2) {
        for (int i = 0; i < half; i++) x.v[i] = x.v[i] > x.v[i + half] ? x.v[i] : x.v[i + half];
    }
    return x.v[0];
}

INLINE_LANES float widen_bf16(uint16_t half) {
    uint32_t bits = (uint32_t) half << 16;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

// Sixteen bfloat16 values, widened.
INLINE_LANES floats load_bf16(const uint16_t *p) {
    floats r;
    EACH r.v[i] = widen_bf16(p[i]);
    return r;
}

// The even and the odd of thirty-two bfloat16 values.
INLINE_LANES floats load_bf16_even(const uint16_t *p) {
    floats r;
    EACH r.v[i] = widen_bf16(p[2 * i]);
    return r;
}
INLINE_LANES floats load_bf16_odd(const uint16_t *p) {
    floats r;
    EACH r.v[i] = widen_bf16(p[2 * i + 1]);
    return r;
}

// Sixteen signed bytes.
INLINE_LANES floats load_i8(const int8_t *p) {
    floats r;
    EACH r.v[i] = (float) p[i];
    return r;
}

INLINE_LANES ints all_ints(int32_t x) {
    ints r;
    EACH r.v[i] = x;
    return r;
}
INLINE_LANES ints zero_ints(void) { return all_ints(0); }
INLINE_LANES ints add_ints(ints a, ints b) {
    EACH a.v[i] += b.v[i];
    return a;
}
INLINE_LANES floats to_floats(ints a) {
    floats r;
    EACH r.v[i] = (float) a.v[i];
    return r;
}

// The nearest integers, ties to even.
INLINE_LANES ints to_ints(floats a) {
    ints r;
    EACH r.v[i] = (int32_t) rintf(a.v[i]);
    return r;
}

INLINE_LANES int32_t sum_ints(ints a) {
    int32_t sum = 0;
    EACH sum += a.v[i];
    return sum;
}

// Stores sixteen integers of -127..127 as bytes.
INLINE_LANES void store_i8(int8_t *p, ints a) { EACH p[i] = (int8_t) a.v[i]; }

// ---- Integer products. Weights are u8 (code + offset), activations s8, four inputs to a lane.

typedef struct {
    uint8_t v[64];
} codes;

INLINE_LANES codes load_codes(const uint8_t *p) {
    codes r;
    memcpy(r.v, p, sizeof r.v);
    return r;
}
INLINE_LANES codes low_nibbles(codes c) {
    for (int i = 0; i < 64; i++) c.v[i] &= 15;
    return c;
}
INLINE_LANES codes high_nibbles(codes c) {
    for (int i = 0; i < 64; i++) c.v[i] >>= 4;
    return c;
}

// Four activations in every lane.
INLINE_LANES codes all_quad(const int8_t *p) {
    codes r;
    EACH memcpy(r.v + 4 * i, p, 4);
    return r;
}

INLINE_LANES ints products(ints acc, codes w, codes x, int offset) {
    EACH {
        for (int k = 4 * i; k < 4 * i + 4; k++) acc.v[i] += ((int) w.v[k] - offset) * (int8_t) x.v[k];
    }
    return acc;
}

#define ADD_W8(acc, w, x) ((acc) = products(acc, w, x, 128))
#define W8_OFFSET 0
#define ADD_W4(acc, w, x) ((acc) = products(acc, w, x, 0))

// to[i][j] = from[j][i] ^ flip over sixteen rows of sixteen 32-bit values.
INLINE_LANES void transpose(const void *const from[16], uint32_t flip, void *to) {
    uint32_t *out = (uint32_t *) to;
    for (int j = 0; j < 16; j++) {
        uint32_t row[16];
        memcpy(row, from[j], sizeof row);
        for (int i = 0; i < 16; i++) out[16 * i + j] = row[i] ^ flip;
    }
}

// Bit i is set where lane i is above the limit.
INLINE_LANES uint32_t lanes_above(floats x, floats limit) {
    uint32_t mask = 0;
    EACH mask |= (uint32_t) (x.v[i] > limit.v[i]) << i;
    return mask;
}

// Packs those of sixteen 32-bit values whose bit is set one after the other; whatever they leave of sixteen places may
// be overwritten. `to` may lie at or before `from` in the same memory.
INLINE_LANES void pack_lanes(void *to, const void *from, uint32_t mask) {
    uint32_t *packed = (uint32_t *) to;
    const uint32_t *values = (const uint32_t *) from;
    for (; mask; mask &= mask - 1) {
        *packed++ = values[__builtin_ctz(mask)];
    }
}
