// Gumbel noise of token ids: the Philox-4x32-10 words it is made from, and bounds of it (NoiseBounds.java).
#ifndef MILLRACE_NOISE_H
#define MILLRACE_NOISE_H

#include "lanes.h"

typedef struct {
    uint32_t key0, key1, position, choice;
} noise_address;

enum { WORDS = 32 };  // words made at a time, of consecutive tokens

#define PHILOX_ROUNDS 10
#define PHILOX_MUL0 0xD2511F53u
#define PHILOX_MUL1 0xCD9E8D57u
#define PHILOX_WEYL0 0x9E3779B9u
#define PHILOX_WEYL1 0xBB67AE85u

INLINE void philox(const noise_address *a, uint32_t block, uint32_t words[4]) {
    uint32_t w0 = a->position, w1 = 0, w2 = a->choice, w3 = block, k0 = a->key0, k1 = a->key1;
    for (int round = 0; round < PHILOX_ROUNDS; round++) {
        uint64_t p0 = (uint64_t) PHILOX_MUL0 * w0, p1 = (uint64_t) PHILOX_MUL1 * w2;
        w0 = (uint32_t) (p1 >> 32) ^ w1 ^ k0;
        w1 = (uint32_t) p1;
        w2 = (uint32_t) (p0 >> 32) ^ w3 ^ k1;
        w3 = (uint32_t) p0;
        k0 += PHILOX_WEYL0;
        k1 += PHILOX_WEYL1;
    }
    words[0] = w0, words[1] = w1, words[2] = w2, words[3] = w3;
}

// In lanes a word is the lower half of 64 bits; the upper half holds leftovers that no product reads. Lanes are
// numbered so that unpacking brings the four words of each block side by side and the blocks in order.
#if defined(__AVX512F__)
#define WIDE(operation) _mm512_##operation
typedef __m512i wide;
INLINE wide wide_xor(wide a, wide b, wide c) { return _mm512_ternarylogic_epi64(a, b, c, 0x96); }
INLINE wide wide_blocks(uint32_t block) {
    return _mm512_add_epi64(_mm512_set1_epi64(block), _mm512_set_epi64(7, 3, 6, 2, 5, 1, 4, 0));
}
INLINE wide wide_pair(wide a, wide b) { return _mm512_mask_blend_epi32(0xAAAA, a, _mm512_slli_epi64(b, 32)); }
#elif defined(__AVX2__)
#define WIDE(operation) _mm256_##operation
typedef __m256i wide;
INLINE wide wide_xor(wide a, wide b, wide c) { return _mm256_xor_si256(_mm256_xor_si256(a, b), c); }
INLINE wide wide_blocks(uint32_t block) {
    return _mm256_add_epi64(_mm256_set1_epi64x(block), _mm256_set_epi64x(3, 1, 2, 0));
}
INLINE wide wide_pair(wide a, wide b) { return _mm256_blend_epi32(a, _mm256_slli_epi64(b, 32), 0xAA); }
#define _mm256_set1_epi64 _mm256_set1_epi64x
#endif

#if defined(__AVX2__)
// The words of 16 tokens to a register of 512 bits, of 8 to one of 256: `first` and `second` follow each other.
INLINE void philox_wide(const noise_address *a, uint32_t block, wide *first, wide *second) {
    const wide m0 = WIDE(set1_epi64)(PHILOX_MUL0), m1 = WIDE(set1_epi64)(PHILOX_MUL1);
    wide w0 = WIDE(set1_epi64)(a->position), w1 = WIDE(set1_epi64)(0);
    wide w2 = WIDE(set1_epi64)(a->choice), w3 = wide_blocks(block);
    uint32_t k0 = a->key0, k1 = a->key1;
    for (int round = 0; round < PHILOX_ROUNDS; round++) {
        wide p0 = WIDE(mul_epu32)(w0, m0), p1 = WIDE(mul_epu32)(w2, m1);
        w0 = wide_xor(WIDE(srli_epi64)(p1, 32), w1, WIDE(set1_epi64)(k0));
        w2 = wide_xor(WIDE(srli_epi64)(p0, 32), w3, WIDE(set1_epi64)(k1));
        w1 = p1;
        w3 = p0;
        k0 += PHILOX_WEYL0;
        k1 += PHILOX_WEYL1;
    }
    wide front = wide_pair(w0, w1), back = wide_pair(w2, w3);
    *first = WIDE(unpacklo_epi64)(front, back);
    *second = WIDE(unpackhi_epi64)(front, back);
}
#endif

#if defined(__AVX512F__)
INLINE void philox_lanes(const noise_address *a, uint32_t block, ints words[WORDS / LANES]) {
    philox_wide(a, block, &words[0], &words[1]);
}
INLINE ints halved_complement(ints words) {
    return _mm512_srli_epi32(_mm512_xor_si512(words, _mm512_set1_epi32(-1)), 1);
}
INLINE ints bits_of(floats x) { return _mm512_castps_si512(x); }
#elif defined(__AVX2__)
INLINE void philox_lanes(const noise_address *a, uint32_t block, ints words[WORDS / LANES]) {
    philox_wide(a, block, &words[0].lo, &words[0].hi);
    philox_wide(a, block + 4, &words[1].lo, &words[1].hi);
}
INLINE ints halved_complement(ints words) {
    const __m256i ones = _mm256_set1_epi32(-1);
    return (ints){_mm256_srli_epi32(_mm256_xor_si256(words.lo, ones), 1),
                  _mm256_srli_epi32(_mm256_xor_si256(words.hi, ones), 1)};
}
INLINE ints bits_of(floats x) { return (ints){_mm256_castps_si256(x.lo), _mm256_castps_si256(x.hi)}; }
#else
INLINE void philox_lanes(const noise_address *a, uint32_t block, ints words[WORDS / LANES]) {
    for (int i = 0; i < WORDS; i += 4) {
        philox(a, block + (uint32_t) i / 4, (uint32_t *) words[i / LANES].v + i % LANES);
    }
}
INLINE ints halved_complement(ints words) {
    EACH words.v[i] = (int32_t) (~(uint32_t) words.v[i] >> 1);
    return words;
}
INLINE ints bits_of(floats x) {
    ints r;
    memcpy(r.v, x.v, sizeof r.v);
    return r;
}
#endif

// A number above the noise of each word.
INLINE floats upper_noise(ints words) {
    floats halved = add(to_floats(halved_complement(words)), all(0.25f));
    return fma_lanes(to_floats(bits_of(halved)), all(-8.262958e-8f), all(109.518f));
}

// upper_noise of the word of all ones: the largest there is.
#define LARGEST_NOISE 22.875f

// A number below the noise of a word.
INLINE float lower_noise(uint32_t word, float upper) {
    uint32_t complement = ~word;
    if (complement < 1u << 30) {
        return upper - (complement < 32 ? 1.4f : 0.25f);
    }
    float u = (float) (word >> 8) * 0x1p-24f;
    float chord = 8.5f * u - 3.14f, tangent = 2.885f * u - 1.077f;
    return chord < tangent ? chord : tangent;
}

#endif
