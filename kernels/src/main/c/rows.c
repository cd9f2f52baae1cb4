// Phases that work row by row: norms, rounding, sums, the inner activations of a SwiGLU, the combination of experts.
#include "rows.h"

#define EACH_ROW(call, chunk, row) \
    for (int64_t row = (chunk) * (call)->rows_per_chunk, end = min64(row + (call)->rows_per_chunk, (call)->rows); \
         row < end; row++)

void FN(rms_norm)(const rows_call *call, int32_t chunk, int32_t worker) {
    (void) worker;
    EACH_ROW(call, chunk, row) {
        int64_t at = row * call->width;
        rms_norm(call->x + at, call->gain, call->width, (float) call->eps, call->y + at);
    }
}

// y += x.
void FN(add)(const rows_call *call, int32_t chunk, int32_t worker) {
    (void) worker;
    EACH_ROW(call, chunk, row) {
        const float *x = call->x + row * call->width;
        float *y = call->y + row * call->width;
        for (int64_t i = 0; i < call->width; i += LANES) {
            int64_t n = call->width - i;
            store_to(y + i, add(load_to(y + i, n), load_to(x + i, n)), n);
        }
    }
}

// y = H(x) * gain.
void FN(hadamard)(const rows_call *call, int32_t chunk, int32_t worker) {
    (void) worker;
    EACH_ROW(call, chunk, row) {
        float *y = call->y + row * call->width;
        memmove(y, call->x + row * call->width, (size_t) call->width * sizeof(float));
        hadamard_row(y, call->width, call->block, (float) call->factor);
        for (int64_t i = 0; i < call->width; i += LANES) {
            int64_t n = call->width - i;
            store_to(y + i, mul(load_to(y + i, n), load_to(call->gain + i, n)), n);
        }
    }
}

// y = sigmoid(x).
void FN(sigmoid)(const rows_call *call, int32_t chunk, int32_t worker) {
    (void) worker;
    EACH_ROW(call, chunk, row) {
        for (int64_t i = row * call->width; i < (row + 1) * call->width; i += LANES) {
            int64_t n = (row + 1) * call->width - i;
            store_to(call->y + i, sigmoid_lanes(load_to(call->x + i, n)), n);
        }
    }
}

void FN(round)(const round_call *call, int32_t chunk, int32_t worker) {
    (void) worker;
    EACH_ROW(call, chunk, row) {
        round_into(&call->out, row, call->x + row * call->x_step, call->factors, call->width);
    }
}

// gate = H(silu(gate) * up), rounded if told.
void FN(inner)(const inner_call *call, int32_t chunk, int32_t worker) {
    (void) worker;
    EACH_ROW(call, chunk, row) {
        float *gate = call->gate + row * call->step;
        const float *up = call->up + row * call->step;
        for (int64_t i = 0; i < call->width; i += LANES) {
            int64_t n = call->width - i;
            floats g = load_to(gate + i, n);
            store_to(gate + i, mul(mul(g, sigmoid_lanes(g)), load_to(up + i, n)), n);
        }
        hadamard_row(gate, call->width, call->rotation, (float) call->rotation_factor);
        if (call->round) {
            round_into(&call->out, row, gate, 0, call->width);
        }
    }
}

void FN(combine)(const combine_call *call, int32_t chunk, int32_t worker) {
    (void) worker;
    EACH_ROW(call, chunk, row) {
        const int32_t *places = call->places + row * call->top_k;
        const float *weights = call->weights + row * call->top_k;
        const float *shared = call->shared + row * call->step;
        float *y = call->y + row * call->width;
        for (int64_t i = 0; i < call->width; i += LANES) {
            int64_t n = call->width - i;
            floats sum = mul(load_to(call->out + places[0] * call->step + i, n), all(weights[0]));
            for (int64_t k = 1; k < call->top_k; k++) {
                sum = fma_lanes(load_to(call->out + places[k] * call->step + i, n), all(weights[k]), sum);
            }
            store_to(y + i, add(sum, load_to(shared + i, n)), n);
        }
    }
}
