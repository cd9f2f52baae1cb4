// What this machine can do at most at one instruction set: integer and float products in registers, reading of memory.
#include "calls.h"
#include "tiles.h"

// Accumulators that hide the latency of a product and, in every instruction set, fit into the registers. HIDE keeps the
// compiler from taking products out of the loop.
#if defined(__AVX512F__)
#define CHAINS 24
#define FLOAT_CHAINS 24
#define ACTIVATIONS 4
#define HIDE(w) __asm__ volatile("" : "+v"(w))
#elif defined(__AVXVNNI__)
#define CHAINS 6
#define FLOAT_CHAINS 6
#define ACTIVATIONS 1
#define HIDE(w) __asm__ volatile("" : "+x"((w).lo), "+x"((w).hi))
#elif defined(__AVX2__)
#define CHAINS 3
#define FLOAT_CHAINS 6
#define ACTIVATIONS 3
#define HIDE(w) __asm__ volatile("" : "+x"((w).lo), "+x"((w).hi))
#else
#define CHAINS 2
#define FLOAT_CHAINS 2
#define ACTIVATIONS 2
#define HIDE(w) __asm__ volatile("" : "+m"(w))
#endif

// Products of a chain in one round: lanes times inputs of a lane.
int64_t FN(limit_int8_products)(int64_t address) {
    return ((const limit_call *) address)->rounds * CHAINS * LANES * 4;
}

int64_t FN(limit_float_products)(int64_t address) {
    return ((const limit_call *) address)->rounds * FLOAT_CHAINS * LANES;
}

void FN(limit_int8)(int64_t address, int32_t chunk, int32_t worker) {
    (void) worker;
    const limit_call *call = (const limit_call *) address;
    codes w = load_codes(call->data), x[ACTIVATIONS];
    UNROLL for (int i = 0; i < ACTIVATIONS; i++) {
        x[i] = load_codes(call->data + 64 * (i + 1));
    }
    ints acc[CHAINS];
    UNROLL for (int i = 0; i < CHAINS; i++) {
        acc[i] = all_ints(i);
    }
    for (int64_t round = 0; round < call->rounds; round++) {
        HIDE(w);
        UNROLL for (int i = 0; i < CHAINS; i++) {
            ADD_W8(acc[i], w, x[i % ACTIVATIONS]);
        }
    }
    // Sums of so many products wrap, so they are added up as unsigned numbers.
    uint64_t sum = 0;
    UNROLL for (int i = 0; i < CHAINS; i++) {
        uint32_t lanes[LANES];
        memcpy(lanes, &acc[i], sizeof lanes);
        for (int j = 0; j < LANES; j++) {
            sum += lanes[j];
        }
    }
    call->result[chunk] = sum;
}

void FN(limit_float)(int64_t address, int32_t chunk, int32_t worker) {
    (void) worker;
    const limit_call *call = (const limit_call *) address;
    floats w = load((const float *) call->data), x = load((const float *) (call->data + 64));
    floats acc[FLOAT_CHAINS];
    UNROLL for (int i = 0; i < FLOAT_CHAINS; i++) {
        acc[i] = all((float) i);
    }
    for (int64_t round = 0; round < call->rounds; round++) {
        UNROLL for (int i = 0; i < FLOAT_CHAINS; i++) {
            acc[i] = fma_lanes(w, x, acc[i]);
        }
    }
    floats sum = zero();
    UNROLL for (int i = 0; i < FLOAT_CHAINS; i++) {
        sum = add(sum, acc[i]);
    }
    call->result[chunk] = (uint64_t) sum_lanes(sum);
}

// Reads every line of a chunk once, in four streams side by side: the memory gives more to them than to one.
#define STREAM_FLOATS (1 << 13)

void FN(limit_read)(int64_t address, int32_t chunk, int32_t worker) {
    (void) worker;
    const limit_call *call = (const limit_call *) address;
    const float *from = (const float *) (call->data + (int64_t) chunk * call->chunk_bytes);
    const float *to = from + call->chunk_bytes / (int64_t) sizeof(float);
    floats a = zero(), b = zero(), c = zero(), d = zero();
    for (; from < to; from += 4 * STREAM_FLOATS) {
        for (int64_t i = 0; i < STREAM_FLOATS; i += LANES) {
            a = maximum(a, load(from + i));
            b = maximum(b, load(from + i + STREAM_FLOATS));
            c = maximum(c, load(from + i + 2 * STREAM_FLOATS));
            d = maximum(d, load(from + i + 3 * STREAM_FLOATS));
        }
    }
    call->result[chunk] = (uint64_t) largest_lane(maximum(maximum(a, b), maximum(c, d)));
}
