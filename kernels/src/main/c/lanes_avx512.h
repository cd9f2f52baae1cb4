// Lanes in one 512-bit register; int8 products by VNNI.
#include <immintrin.h>

#define INLINE_LANES static inline __attribute__((always_inline))

typedef __m512 floats;
typedef __m512i ints;

// Registers allow tiles of 6 rows by 4 panels.
#define TILE_ROWS 6
#define TILE_PANELS 4

INLINE_LANES floats zero(void) { return _mm512_setzero_ps(); }
INLINE_LANES floats all(float x) { return _mm512_set1_ps(x); }
INLINE_LANES floats load(const float *p) { return _mm512_loadu_ps(p); }
INLINE_LANES void store(float *p, floats x) { _mm512_storeu_ps(p, x); }
INLINE_LANES floats add(floats a, floats b) { return _mm512_add_ps(a, b); }
INLINE_LANES floats sub(floats a, floats b) { return _mm512_sub_ps(a, b); }
INLINE_LANES floats mul(floats a, floats b) { return _mm512_mul_ps(a, b); }
INLINE_LANES floats divide(floats a, floats b) { return _mm512_div_ps(a, b); }
INLINE_LANES floats minimum(floats a, floats b) { return _mm512_min_ps(a, b); }
INLINE_LANES floats maximum(floats a, floats b) { return _mm512_max_ps(a, b); }
INLINE_LANES floats magnitude(floats a) { return _mm512_abs_ps(a); }
INLINE_LANES floats fma_lanes(floats a, floats b, floats c) { return _mm512_fmadd_ps(a, b, c); }

// x where limit <= at, else 0.
INLINE_LANES floats zero_below(floats x, floats at, floats limit) {
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(at, limit, _CMP_NLT_UQ), x);
}

// 2^n, given n + 12582912.
INLINE_LANES floats power_of_two(floats shifted) {
    __m512i n = _mm512_sub_epi32(_mm512_castps_si512(shifted), _mm512_set1_epi32(0x4b400000 - 127));
    return _mm512_castsi512_ps(_mm512_slli_epi32(n, 23));
}

INLINE_LANES float sum_lanes(floats x) {
    __m256 a = _mm256_add_ps(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps(x, 1));
    __m128 b = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    b = _mm_add_ps(b, _mm_movehl_ps(b, b));
    return _mm_cvtss_f32(_mm_add_ss(b, _mm_shuffle_ps(b, b, 1)));
}

INLINE_LANES float largest_lane(floats x) {
    __m256 a = _mm256_max_ps(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps(x, 1));
    __m128 b = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    b = _mm_max_ps(b, _mm_movehl_ps(b, b));
    return _mm_cvtss_f32(_mm_max_ss(b, _mm_shuffle_ps(b, b, 1)));
}

// Sixteen bfloat16 values, widened.
INLINE_LANES floats load_bf16(const uint16_t *p) {
    __m512i bits = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *) p));
    return _mm512_castsi512_ps(_mm512_slli_epi32(bits, 16));
}

// The even and the odd of thirty-two bfloat16 values.
INLINE_LANES floats load_bf16_even(const uint16_t *p) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_loadu_si512(p), 16));
}
INLINE_LANES floats load_bf16_odd(const uint16_t *p) {
    return _mm512_castsi512_ps(_mm512_and_si512(_mm512_loadu_si512(p), _mm512_set1_epi32((int) 0xffff0000)));
}

// Sixteen signed bytes.
INLINE_LANES floats load_i8(const int8_t *p) {
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *) p)));
}

INLINE_LANES ints zero_ints(void) { return _mm512_setzero_si512(); }
INLINE_LANES ints all_ints(int32_t x) { return _mm512_set1_epi32(x); }
INLINE_LANES ints add_ints(ints a, ints b) { return _mm512_add_epi32(a, b); }
INLINE_LANES floats to_floats(ints a) { return _mm512_cvtepi32_ps(a); }

// The nearest integers, ties to even.
INLINE_LANES ints to_ints(floats a) { return _mm512_cvtps_epi32(a); }

INLINE_LANES int32_t sum_ints(ints a) { return _mm512_reduce_add_epi32(a); }

// Stores sixteen integers of -127..127 as bytes.
INLINE_LANES void store_i8(int8_t *p, ints a) { _mm_storeu_si128((__m128i *) p, _mm512_cvtepi32_epi8(a)); }

// ---- Integer products. Weights are u8 (code + offset), activations s8, four inputs to a lane.

typedef __m512i codes;

INLINE_LANES codes load_codes(const uint8_t *p) { return _mm512_loadu_si512(p); }
INLINE_LANES codes low_nibbles(codes c) { return _mm512_and_si512(c, _mm512_set1_epi8(15)); }
INLINE_LANES codes high_nibbles(codes c) {
    return _mm512_and_si512(_mm512_srli_epi16(c, 4), _mm512_set1_epi8(15));
}

// Four activations in every lane.
INLINE_LANES codes all_quad(const int8_t *p) {
    int32_t quad;
    memcpy(&quad, p, sizeof quad);
    return _mm512_set1_epi32(quad);
}

// acc += w . x over four inputs a lane. By assembly: with many accumulators the intrinsic makes this compiler store
// each of them in every round.
#define ADD_PRODUCTS(acc, w, x) __asm__("vpdpbusd %2, %1, %0" : "+v"(acc) : "v"(w), "v"(x))

// Products of u8 weights carry the offset of the weights.
#define ADD_W8(acc, w, x) ADD_PRODUCTS(acc, w, x)
#define W8_OFFSET 128
#define ADD_W4(acc, w, x) ADD_PRODUCTS(acc, w, x)

// to[i][j] = from[j][i] ^ flip over sixteen rows of sixteen 32-bit values.
INLINE_LANES void transpose(const void *const from[16], uint32_t flip, void *to) {
    __m512i a[16], b[16];
    const __m512i flips = _mm512_set1_epi32((int) flip);
    for (int i = 0; i < 16; i++) a[i] = _mm512_xor_si512(_mm512_loadu_si512(from[i]), flips);
    for (int i = 0; i < 16; i += 2) {
        b[i] = _mm512_unpacklo_epi32(a[i], a[i + 1]);
        b[i + 1] = _mm512_unpackhi_epi32(a[i], a[i + 1]);
    }
    for (int i = 0; i < 16; i += 4) {
        a[i] = _mm512_unpacklo_epi64(b[i], b[i + 2]);
        a[i + 1] = _mm512_unpackhi_epi64(b[i], b[i + 2]);
        a[i + 2] = _mm512_unpacklo_epi64(b[i + 1], b[i + 3]);
        a[i + 3] = _mm512_unpackhi_epi64(b[i + 1], b[i + 3]);
    }
    for (int i = 0; i < 4; i++) {
        b[i] = _mm512_shuffle_i32x4(a[i], a[i + 4], 0x88);
        b[i + 4] = _mm512_shuffle_i32x4(a[i], a[i + 4], 0xdd);
        b[i + 8] = _mm512_shuffle_i32x4(a[i + 8], a[i + 12], 0x88);
        b[i + 12] = _mm512_shuffle_i32x4(a[i + 8], a[i + 12], 0xdd);
    }
    int32_t *out = (int32_t *) to;
    for (int i = 0; i < 4; i++) {
        _mm512_storeu_si512(out + 16 * i, _mm512_shuffle_i32x4(b[i], b[i + 8], 0x88));
        _mm512_storeu_si512(out + 16 * (i + 4), _mm512_shuffle_i32x4(b[i + 4], b[i + 12], 0x88));
        _mm512_storeu_si512(out + 16 * (i + 8), _mm512_shuffle_i32x4(b[i], b[i + 8], 0xdd));
        _mm512_storeu_si512(out + 16 * (i + 12), _mm512_shuffle_i32x4(b[i + 4], b[i + 12], 0xdd));
    }
}

// Bit i is set where lane i is above the limit.
INLINE_LANES uint32_t lanes_above(floats x, floats limit) { return _mm512_cmp_ps_mask(x, limit, _CMP_GT_OQ); }

// Packs those of sixteen 32-bit values whose bit is set one after the other; whatever they leave of sixteen places is
// overwritten. `to` may lie at or before `from` in the same memory.
INLINE_LANES void pack_lanes(void *to, const void *from, uint32_t mask) {
    _mm512_storeu_si512(to, _mm512_maskz_compress_epi32((__mmask16) mask, _mm512_loadu_si512(from)));
}
