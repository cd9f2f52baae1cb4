// What is computed of one row at a time.
#ifndef MILLRACE_ROWS_H
#define MILLRACE_ROWS_H

#include "calls.h"
#include "lanes.h"

// The same in every provider: RowQuantization.java.
#define MAX_CODE 127.0f
#define SMALLEST 0x1p-100f

INLINE float squares(const float *x, float mean, int64_t width) {
    floats sum = zero();
    for (int64_t i = 0; i < width; i += LANES) {
        floats v = sub(load_to(x + i, width - i), all(mean));
        if (width - i < LANES) {
            float whole[LANES] = {0};
            store_part(whole, v, width - i);
            v = load(whole);
        }
        sum = fma_lanes(v, v, sum);
    }
    return sum_lanes(sum);
}

INLINE float inverse_root(float x) { return (float) (1 / sqrt((double) x)); }

// y = x / sqrt(mean(x^2) + eps) * gain; y may be x.
INLINE void rms_norm(const float *x, const float *gain, int64_t width, float eps, float *y) {
    floats factor = all(inverse_root(squares(x, 0, width) / (float) width + eps));
    for (int64_t i = 0; i < width; i += LANES) {
        int64_t n = width - i;
        store_to(y + i, mul(mul(load_to(x + i, n), factor), load_to(gain + i, n)), n);
    }
}

// x = (x - mean) / sqrt(variance + eps) * gain + bias.
INLINE void layer_norm(float *x, const float *gain, const float *bias, int64_t width, float eps) {
    floats sum = zero();
    for (int64_t i = 0; i < width; i += LANES) {
        sum = add(sum, load_to(x + i, width - i));
    }
    float mean = sum_lanes(sum) / (float) width;
    floats factor = all(inverse_root(squares(x, mean, width) / (float) width + eps));
    for (int64_t i = 0; i < width; i += LANES) {
        int64_t n = width - i;
        floats v = mul(sub(load_to(x + i, n), all(mean)), factor);
        store_to(x + i, fma_lanes(v, load_to(gain + i, n), load_to(bias + i, n)), n);
    }
}

// The largest magnitude; NaN if an element is infinite or none.
INLINE float largest_magnitude(const float *x, const float *factors, int64_t width) {
    floats largest = zero();
    floats poison = zero();
    for (int64_t i = 0; i < width; i += LANES) {
        floats v = load_to(x + i, width - i);
        if (factors) {
            v = mul(v, load_to(factors + i, width - i));
        }
        largest = maximum(largest, magnitude(v));
        poison = fma_lanes(v, zero(), poison);
    }
    return largest_lane(largest) + sum_lanes(poison);
}

// Rounds a row to codes, padded with zeros to padded(width); returns the scale. Sums, if wanted, are those of
// rounded_rows.
INLINE float round_row(const float *x, const float *factors, int64_t width, int8_t *codes, int32_t *sums) {
    float largest = largest_magnitude(x, factors, width);
    if (largest != largest) {
        // Not a number anywhere: codes 0 times a scale that is not a number.
        memset(codes, 0, (size_t) padded(width));
        for (int64_t g = 0; sums && g <= (width + 31) / 32; g++) {
            sums[g] = 0;
        }
        return largest;
    }
    float inverse = largest < SMALLEST ? 0 : MAX_CODE / largest;
    ints total = zero_ints();
    ints group = zero_ints();
    for (int64_t i = 0; i < width; i += LANES) {
        floats v = load_to(x + i, width - i);
        if (factors) {
            v = mul(v, load_to(factors + i, width - i));
        }
        ints q = to_ints(mul(v, all(inverse)));
        store_i8(codes + i, q);
        if (sums) {
            total = add_ints(total, q);
            group = add_ints(group, q);
            if (i % 32 != 0 || i + LANES >= width) {
                sums[1 + i / 32] = sum_ints(group);
                group = zero_ints();
            }
        }
    }
    if (sums) {
        sums[0] = sum_ints(total);
    }
    return largest < SMALLEST ? 0 : largest * (1.0f / MAX_CODE);
}

// Rounds row `row` of a call's rows.
INLINE void round_into(const rounded_rows *out, int64_t row, const float *x, const float *factors, int64_t width) {
    int8_t *codes = out->codes + row * out->stride;
    int32_t *sums = out->sums ? out->sums + row * out->sum_step : 0;
    out->scales[row * out->scale_step] = round_row(x, factors, width, codes, sums);
    memset(codes + padded(width), 0, (size_t) (out->stride - padded(width)));
    for (int64_t g = (width + 31) / 32; sums && g < out->stride / 32; g++) {
        sums[1 + g] = 0;
    }
}

INLINE void rotate(float *x, int64_t style, int64_t rope, const float *cos, const float *sin) {
    int64_t half = rope / 2;
    int64_t first = style == ROPE_INTERLEAVED ? 2 : 1;
    int64_t second = style == ROPE_INTERLEAVED ? 1 : half;
    for (int64_t i = 0; i < half; i++) {
        float a = x[i * first];
        float b = x[i * first + second];
        x[i * first] = a * cos[i] - b * sin[i];
        x[i * first + second] = b * cos[i] + a * sin[i];
    }
}

// Bytes of a row without its scales.
INLINE int64_t row_bytes(const paged_rows *rows) {
    static const int64_t element_bytes[] = {4, 2, 1};
    return rows->row_elements * element_bytes[rows->format];
}

INLINE uint8_t *row_of(const paged_rows *rows, const int32_t *table, int64_t slot) {
    return rows->section + table[slot / PAGE_ROWS] * rows->page_bytes + slot % PAGE_ROWS * row_bytes(rows);
}

INLINE float *scales_of(const paged_rows *rows, const int32_t *table, int64_t slot) {
    int64_t parts = rows->first_part < rows->row_elements ? 2 : 1;
    return (float *) (rows->section + table[slot / PAGE_ROWS] * rows->page_bytes + PAGE_ROWS * rows->row_elements)
            + slot % PAGE_ROWS * parts;
}

INLINE uint16_t to_bf16(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    if ((bits & 0x7fffffffu) > 0x7f800000u) {
        return (uint16_t) (bits >> 16 | 0x40);
    }
    return (uint16_t) ((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

// Rounds a row to the format of its page and stores it there. Whole lanes of codes are written: through a copy, as the
// next row of the page is another row's.
INLINE void write_row(const paged_rows *rows, const int32_t *table, int64_t slot, const float *x, int8_t *codes) {
    uint8_t *to = row_of(rows, table, slot);
    int64_t width = rows->row_elements;
    if (rows->format == KV_F32) {
        memcpy(to, x, (size_t) width * sizeof(float));
    } else if (rows->format == KV_BF16) {
        for (int64_t i = 0; i < width; i++) {
            uint16_t bits = to_bf16(x[i]);
            memcpy(to + 2 * i, &bits, sizeof bits);
        }
    } else {
        float *scales = scales_of(rows, table, slot);
        int64_t first = rows->first_part;
        scales[0] = round_row(x, 0, first, codes, 0);
        memcpy(to, codes, (size_t) first);
        if (first < width) {
            scales[1] = round_row(x + first, 0, width - first, codes, 0);
            memcpy(to + first, codes, (size_t) (width - first));
        }
    }
}

// The block-diagonal Hadamard rotation: Hadamard.java.
INLINE void hadamard_row(float *x, int64_t width, int64_t block, float factor) {
    for (int64_t distance = 1; distance < block; distance *= 2) {
        if (distance < LANES) {
            for (int64_t i = 0; i < width; i += 2 * distance) {
                for (int64_t j = i; j < i + distance; j++) {
                    float a = x[j];
                    float b = x[j + distance];
                    x[j] = a + b;
                    x[j + distance] = a - b;
                }
            }
        } else {
            for (int64_t i = 0; i < width; i += 2 * distance) {
                for (int64_t j = i; j < i + distance; j += LANES) {
                    floats a = load(x + j);
                    floats b = load(x + j + distance);
                    store(x + j, add(a, b));
                    store(x + j + distance, sub(a, b));
                }
            }
        }
    }
    for (int64_t i = 0; i < width && block > 1; i += LANES) {
        int64_t n = width - i;
        store_to(x + i, mul(load_to(x + i, n), all(factor)), n);
    }
}

#endif
