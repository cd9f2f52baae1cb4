// Attention preprocessing: what is computed row by row before, between and after the products.
#include "rows.h"

#define EACH_ROW(call, chunk, row) \
    for (int64_t row = (chunk) * (call)->rows_per_chunk, end = min64(row + (call)->rows_per_chunk, (call)->batch.rows); \
         row < end; row++)

// Widest cached row part.
#define MAX_PART 4096

// The input norm, and its rounding.
void FN(prolog_input)(const prolog_call *call, int32_t chunk, int32_t worker) {
    (void) worker;
    EACH_ROW(call, chunk, row) {
        float *hidden = call->hidden + row * call->hidden_size;
        rms_norm(call->x + row * call->hidden_size, call->input_norm, call->hidden_size, (float) call->rms_eps, hidden);
        if (call->hidden_rounded.codes) {
            round_into(&call->hidden_rounded, row, hidden, 0, call->hidden_size);
        }
    }
}

static void index_row(const prolog_call *call, int64_t row, const float *cos, const float *sin, int8_t *codes) {
    float *key = call->index_key + row * call->index_step;
    layer_norm(key, call->key_gain, call->key_bias, call->index_dim, (float) call->key_eps);
    rotate(key, call->index_rope_style, call->rope, cos, sin);
    const int32_t *table = (const int32_t *) call->batch.tables[row];
    write_row(&call->index_keys, table, call->batch.slots[row], key, codes);
    float *weights = call->index_weights + row * call->index_heads;
    for (int64_t h = 0; h < call->index_heads; h++) {
        weights[h] *= (float) call->index_scale;
    }
}

// The latent norms, the roped key, and the writes of cached rows.
void FN(prolog_latents)(const prolog_call *call, int32_t chunk, int32_t worker) {
    (void) worker;
    int8_t codes[MAX_PART];
    EACH_ROW(call, chunk, row) {
        float *query = call->q_latent + row * call->q_step;
        rms_norm(query, call->q_norm, call->q_rank, (float) call->latent_eps, query);
        if (call->q_rounded.codes) {
            round_into(&call->q_rounded, row, query, 0, call->q_rank);
        }
        const float *cos = call->cos + row * (call->rope / 2);
        const float *sin = call->sin + row * (call->rope / 2);
        float *key = call->kv_latent + row * call->kv_step;
        rms_norm(key, call->kv_norm, call->kv_rank, (float) call->latent_eps, key);
        rotate(key + call->kv_rank, call->rope_style, call->rope, cos, sin);
        const int32_t *table = (const int32_t *) call->batch.tables[row];
        write_row(&call->latent, table, call->batch.slots[row], key, codes);
        if (call->indexed) {
            index_row(call, row, cos, sin, codes);
        }
    }
}

// Splits the heads: roped parts go to the query, the rest too in the naive form, or to the absorbing product.
void FN(prolog_heads)(const prolog_call *call, int32_t chunk, int32_t worker) {
    (void) worker;
    int64_t head_width = call->nope + call->rope;
    int64_t part = chunk % call->head_parts, parts = call->head_parts;
    int64_t index_heads = call->indexed ? call->index_heads : 0;
    EACH_ROW(call, chunk / parts, row) {
        const float *cos = call->cos + row * (call->rope / 2);
        const float *sin = call->sin + row * (call->rope / 2);
        for (int64_t h = index_heads * part / parts; h < index_heads * (part + 1) / parts; h++) {
            float *query = call->index_query + (row * call->index_heads + h) * call->index_dim;
            rotate(query, call->index_rope_style, call->rope, cos, sin);
        }
        for (int64_t h = call->heads * part / parts; h < call->heads * (part + 1) / parts; h++) {
            float *head = call->head_rows + row * call->head_step + h * head_width;
            rotate(head + call->nope, call->rope_style, call->rope, cos, sin);
            float *query = call->query + (row * call->heads + h) * call->query_row;
            if (!call->absorbed) {
                memcpy(query, head, (size_t) head_width * sizeof(float));
                continue;
            }
            memcpy(query + call->query_row - call->rope, head + call->nope, (size_t) call->rope * sizeof(float));
            if (call->head_rounded.codes) {
                const float *factors = (const float *) call->absorb_factors[h];
                round_into(&call->head_rounded, row * call->heads + h, head, factors, call->nope);
            }
        }
    }
}
