// Sixteen float32 or int32 lanes on every instruction set, with the same results to the bit: fused multiply-add
// everywhere, sums over lanes in one written tree. LEVEL names the instruction set this file is compiled for.
#ifndef MILLRACE_LANES_H
#define MILLRACE_LANES_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#if defined(__AVX512F__)
#include "lanes_avx512.h"
#elif defined(__AVX2__)
#include "lanes_avx2.h"
#else
#include "lanes_portable.h"
#endif

#define INLINE static inline __attribute__((always_inline))
#define LANES 16

// Name of a function at this level: FN(linear) is mr_linear_avx512 and so on.
#define FN_JOIN(name, level) mr_##name##_##level
#define FN_EXPAND(name, level) FN_JOIN(name, level)
#define FN(name) FN_EXPAND(name, LEVEL)

INLINE int64_t min64(int64_t a, int64_t b) { return a < b ? a : b; }
INLINE int64_t max64(int64_t a, int64_t b) { return a > b ? a : b; }

INLINE int64_t padded(int64_t n) { return (n + LANES - 1) / LANES * LANES; }

// The first n lanes, zeros elsewhere.
INLINE floats load_part(const float *p, int64_t n) {
    float whole[LANES] = {0};
    memcpy(whole, p, (size_t) n * sizeof(float));
    return load(whole);
}

INLINE void store_part(float *p, floats x, int64_t n) {
    float whole[LANES];
    store(whole, x);
    memcpy(p, whole, (size_t) n * sizeof(float));
}

INLINE floats load_to(const float *p, int64_t n) { return n >= LANES ? load(p) : load_part(p, n); }

INLINE void store_to(float *p, floats x, int64_t n) {
    if (n >= LANES) {
        store(p, x);
    } else {
        store_part(p, x, n);
    }
}

// e^x by range reduction and a polynomial; exactly 0 below -87, so that no denormal arises. Relative error below 3e-7.
// NaN stays NaN: where one operand of maximum or minimum is NaN, they give the second.
INLINE floats exp_lanes(floats x) {
    const floats flush = all(-87.0f);
    floats bounded = minimum(all(87.0f), maximum(flush, x));
    floats shifted = fma_lanes(bounded, all(1.442695f), all(12582912.0f));
    floats n = sub(shifted, all(12582912.0f));
    floats r = fma_lanes(n, all(-0.6933594f), bounded);
    r = fma_lanes(n, all(2.1219444e-4f), r);
    floats p = all(1.9875691e-4f);
    p = fma_lanes(p, r, all(1.3981999e-3f));
    p = fma_lanes(p, r, all(8.333452e-3f));
    p = fma_lanes(p, r, all(4.1665796e-2f));
    p = fma_lanes(p, r, all(0.16666666f));
    p = fma_lanes(p, r, all(0.5f));
    p = add(fma_lanes(p, mul(r, r), r), all(1.0f));
    return zero_below(mul(p, power_of_two(shifted)), x, flush);
}

// 1 / (1 + e^-x), 0 below -87.
INLINE floats sigmoid_lanes(floats x) {
    floats s = divide(all(1.0f), add(exp_lanes(sub(zero(), x)), all(1.0f)));
    return zero_below(s, x, all(-87.0f));
}

#endif
