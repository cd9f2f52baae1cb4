// Lanes in two 256-bit registers; int8 products by VNNI where there is VNNI.
#include <immintrin.h>

#define INLINE_LANES static inline __attribute__((always_inline))

typedef struct {
    __m256 lo, hi;
} floats;
typedef struct {
    __m256i lo, hi;
} ints;

// Registers allow tiles of 3 rows by 1 panel, as a panel takes two of them.
#define TILE_ROWS 3
#define TILE_PANELS 1

#define EACH(operation) ((floats){operation(a.lo, b.lo), operation(a.hi, b.hi)})

INLINE_LANES floats zero(void) { return (floats){_mm256_setzero_ps(), _mm256_setzero_ps()}; }
INLINE_LANES floats all(float x) { return (floats){_mm256_set1_ps(x), _mm256_set1_ps(x)}; }
INLINE_LANES floats load(const float *p) { return (floats){_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
INLINE_LANES void store(float *p, floats x) {
    _mm256_storeu_ps(p, x.lo);
    _mm256_storeu_ps(p + 8, x.hi);
}
INLINE_LANES floats add(floats a, floats b) { return EACH(_mm256_add_ps); }
INLINE_LANES floats sub(floats a, floats b) { return EACH(_mm256_sub_ps); }
INLINE_LANES floats mul(floats a, floats b) { return EACH(_mm256_mul_ps); }
INLINE_LANES floats divide(floats a, floats b) { return EACH(_mm256_div_ps); }
INLINE_LANES floats minimum(floats a, floats b) { return EACH(_mm256_min_ps); }
INLINE_LANES floats maximum(floats a, floats b) { return EACH(_mm256_max_ps); }
INLINE_LANES floats magnitude(floats a) {
    floats b = all(-0.0f);
    return (floats){_mm256_andnot_ps(b.lo, a.lo), _mm256_andnot_ps(b.hi, a.hi)};
}
INLINE_LANES floats fma_lanes(floats a, floats b, floats c) {
    return (floats){_mm256_fmadd_ps(a.lo, b.lo, c.lo), _mm256_fmadd_ps(a.hi, b.hi, c.hi)};
}

// x where limit <= at, else 0.
INLINE_LANES floats zero_below(floats x, floats at, floats limit) {
    return (floats){_mm256_and_ps(x.lo, _mm256_cmp_ps(at.lo, limit.lo, _CMP_NLT_UQ)),
                    _mm256_and_ps(x.hi, _mm256_cmp_ps(at.hi, limit.hi, _CMP_NLT_UQ))};
}

INLINE_LANES __m256 power_of_two_half(__m256 shifted) {
    __m256i n = _mm256_sub_epi32(_mm256_castps_si256(shifted), _mm256_set1_epi32(0x4b400000 - 127));
    return _mm256_castsi256_ps(_mm256_slli_epi32(n, 23));
}

// 2^n, given n + 12582912.
INLINE_LANES floats power_of_two(floats shifted) {
    return (floats){power_of_two_half(shifted.lo), power_of_two_half(shifted.hi)};
}

INLINE_LANES float sum_lanes(floats x) {
    __m256 a = _mm256_add_ps(x.lo, x.hi);
    __m128 b = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    b = _mm_add_ps(b, _mm_movehl_ps(b, b));
    return _mm_cvtss_f32(_mm_add_ss(b, _mm_shuffle_ps(b, b, 1)));
}

INLINE_LANES float largest_lane(floats x) {
    __m256 a = _mm256_max_ps(x.lo, x.hi);
    __m128 b = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    b = _mm_max_ps(b, _mm_movehl_ps(b, b));
    return _mm_cvtss_f32(_mm_max_ss(b, _mm_shuffle_ps(b, b, 1)));
}

INLINE_LANES __m256 widen_bf16(const uint16_t *p) {
    __m256i bits = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *) p));
    return _mm256_castsi256_ps(_mm256_slli_epi32(bits, 16));
}

// Sixteen bfloat16 values, widened.
INLINE_LANES floats load_bf16(const uint16_t *p) { return (floats){widen_bf16(p), widen_bf16(p + 8)}; }

INLINE_LANES __m256i load_bits(const void *p) { return _mm256_loadu_si256((const __m256i *) p); }

// The even and the odd of thirty-two bfloat16 values.
INLINE_LANES floats load_bf16_even(const uint16_t *p) {
    return (floats){_mm256_castsi256_ps(_mm256_slli_epi32(load_bits(p), 16)),
                    _mm256_castsi256_ps(_mm256_slli_epi32(load_bits(p + 16), 16))};
}
INLINE_LANES floats load_bf16_odd(const uint16_t *p) {
    const __m256i upper = _mm256_set1_epi32((int) 0xffff0000);
    return (floats){_mm256_castsi256_ps(_mm256_and_si256(load_bits(p), upper)),
                    _mm256_castsi256_ps(_mm256_and_si256(load_bits(p + 16), upper))};
}

INLINE_LANES __m256 widen_i8(const int8_t *p) {
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *) p)));
}

// Sixteen signed bytes.
INLINE_LANES floats load_i8(const int8_t *p) { return (floats){widen_i8(p), widen_i8(p + 8)}; }

INLINE_LANES ints zero_ints(void) { return (ints){_mm256_setzero_si256(), _mm256_setzero_si256()}; }
INLINE_LANES ints all_ints(int32_t x) { return (ints){_mm256_set1_epi32(x), _mm256_set1_epi32(x)}; }
INLINE_LANES ints add_ints(ints a, ints b) {
    return (ints){_mm256_add_epi32(a.lo, b.lo), _mm256_add_epi32(a.hi, b.hi)};
}
INLINE_LANES floats to_floats(ints a) { return (floats){_mm256_cvtepi32_ps(a.lo), _mm256_cvtepi32_ps(a.hi)}; }

// The nearest integers, ties to even.
INLINE_LANES ints to_ints(floats a) { return (ints){_mm256_cvtps_epi32(a.lo), _mm256_cvtps_epi32(a.hi)}; }

INLINE_LANES int32_t sum_ints(ints a) {
    __m256i s = _mm256_add_epi32(a.lo, a.hi);
    __m128i t = _mm_add_epi32(_mm256_castsi256_si128(s), _mm256_extracti128_si256(s, 1));
    t = _mm_add_epi32(t, _mm_shuffle_epi32(t, 0x4e));
    return _mm_cvtsi128_si32(_mm_add_epi32(t, _mm_shuffle_epi32(t, 0xb1)));
}

// Stores sixteen integers of -127..127 as bytes.
INLINE_LANES void store_i8(int8_t *p, ints a) {
    __m256i words = _mm256_permute4x64_epi64(_mm256_packs_epi32(a.lo, a.hi), 0xd8);
    __m128i bytes = _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
    _mm_storeu_si128((__m128i *) p, bytes);
}

// ---- Integer products. Weights are u8 (code + offset), activations s8, four inputs to a lane.

typedef ints codes;

INLINE_LANES codes load_codes(const uint8_t *p) { return (codes){load_bits(p), load_bits(p + 32)}; }
INLINE_LANES codes low_nibbles(codes c) {
    const __m256i mask = _mm256_set1_epi8(15);
    return (codes){_mm256_and_si256(c.lo, mask), _mm256_and_si256(c.hi, mask)};
}
INLINE_LANES codes high_nibbles(codes c) {
    return low_nibbles((codes){_mm256_srli_epi16(c.lo, 4), _mm256_srli_epi16(c.hi, 4)});
}

// Four activations in every lane.
INLINE_LANES codes all_quad(const int8_t *p) {
    int32_t quad;
    memcpy(&quad, p, sizeof quad);
    return all_ints(quad);
}

#if defined(__AVXVNNI__)
#define ADD_HALF(acc, w, x) __asm__("%{vex%} vpdpbusd %2, %1, %0" : "+x"(acc) : "x"(w), "x"(x))
#define ADD_PRODUCTS(acc, w, x) \
    do {                        \
        ADD_HALF((acc).lo, (w).lo, (x).lo); \
        ADD_HALF((acc).hi, (w).hi, (x).hi); \
    } while (0)
#define ADD_W8(acc, w, x) ADD_PRODUCTS(acc, w, x)
#define W8_OFFSET 128
#define ADD_W4(acc, w, x) ADD_PRODUCTS(acc, w, x)
#else
// Pairs of u8 x s8 products saturate 16 bits when the u8 exceeds 7 bits. So the offset is taken off and the sign of the
// weight moves to the activation: 2 x 127 x 127 fits.
INLINE_LANES __m256i pair_products(__m256i u8, __m256i s8) {
    return _mm256_madd_epi16(_mm256_maddubs_epi16(u8, s8), _mm256_set1_epi16(1));
}
INLINE_LANES __m256i signed_products(__m256i w, __m256i x) {
    __m256i code = _mm256_xor_si256(w, _mm256_set1_epi8((char) 0x80));
    return pair_products(_mm256_abs_epi8(code), _mm256_sign_epi8(x, code));
}
INLINE_LANES ints w8_products(codes w, codes x) {
    return (ints){signed_products(w.lo, x.lo), signed_products(w.hi, x.hi)};
}
INLINE_LANES ints w4_products(codes w, codes x) {
    return (ints){pair_products(w.lo, x.lo), pair_products(w.hi, x.hi)};
}
#define ADD_W8(acc, w, x) ((acc) = add_ints(acc, w8_products(w, x)))
#define W8_OFFSET 0
#define ADD_W4(acc, w, x) ((acc) = add_ints(acc, w4_products(w, x)))
#endif

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
    int lo = _mm256_movemask_ps(_mm256_cmp_ps(x.lo, limit.lo, _CMP_GT_OQ));
    int hi = _mm256_movemask_ps(_mm256_cmp_ps(x.hi, limit.hi, _CMP_GT_OQ));
    return (uint32_t) (lo | hi << 8);
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
