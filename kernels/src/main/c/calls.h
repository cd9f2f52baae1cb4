// Argument blocks of the phases. Java fills them in native memory: every field is eight bytes wide, so that offsets are
// field numbers times eight (NativeCall.java). A phase runs chunk by chunk, any chunk on any thread.
#ifndef MILLRACE_CALLS_H
#define MILLRACE_CALLS_H

#include <stdint.h>

// Rows rounded to int8: codes [rows][stride], a scale a row, and sums of codes: [0] of the row, [1 + g] of its g-th 32.
typedef struct {
    int8_t *codes;
    int64_t stride;      // bytes from row to row, a multiple of 64; codes are padded with zeros
    float *scales;
    int64_t scale_step;  // floats from row to row
    int32_t *sums;
    int64_t sum_step;    // int32s from row to row
} rounded_rows;

enum { FORMAT_F32 = 0, FORMAT_BF16 = 1, FORMAT_W8A8 = 2, FORMAT_W4A8 = 3 };

// One product y = x W^T of a linear phase.
typedef struct {
    int64_t format;
    const uint8_t *w;      // packed panels
    int64_t panel_bytes;
    const float *scales;   // W8A8 by output: [panels * 16]; else null
    int64_t group;         // W4A8: inputs of a group
    int64_t depth;         // inputs, padded in the integer formats
    int64_t outputs;
    const float *x;        // float formats
    int64_t x_step;        // floats from row to row
    rounded_rows rounded;  // integer formats
    const int32_t *gather; // numbers of the rows of x, null for 0, 1, 2, ...
    int64_t rows;
    float *y;
    int64_t y_step;        // floats from row to row
    int64_t first_chunk;   // these four are set by linear_chunks
    int64_t chunk_panels;
    int64_t run;           // few rows: panels of a stream
    int64_t streams;       // few rows: streams of a band
} linear_part;

typedef struct {
    int64_t parts;
    linear_part *part;
    int64_t threads;
} linear_call;

// Rows to be rounded.
typedef struct {
    const float *x;
    int64_t x_step;
    const float *factors;  // multiplied in before, [width]; or null
    int64_t width;
    rounded_rows out;
    int64_t rows;
    int64_t rows_per_chunk;
} round_call;

// Cached rows of one layer: PagedRows.java. Tables hold the pool page of each block, one table a sequence.
enum { KV_F32 = 0, KV_BF16 = 1, KV_INT8 = 2 };

typedef struct {
    uint8_t *section;       // the first page's section
    int64_t page_bytes;
    int64_t row_elements;
    int64_t first_part;
    int64_t format;
} paged_rows;

// The rows of a step.
typedef struct {
    int64_t rows;
    int64_t first_slot;
    const int32_t *slots;     // [rows]
    const int64_t *tables;    // [rows]: address of the page table of the row's sequence, int32s
} row_batch;

enum { ROPE_INTERLEAVED = 0, ROPE_HALF_SPLIT = 1 };

// Attention preprocessing, row by row, between the products.
typedef struct {
    row_batch batch;
    int64_t rows_per_chunk;
    int64_t head_parts;         // chunks of prolog_heads to one of the other phases, each of some heads
    double rms_eps, latent_eps, key_eps;
    int64_t hidden_size, q_rank, kv_rank, nope, rope, heads, query_row, absorbed;
    int64_t rope_style, index_rope_style;
    const float *cos, *sin;     // [rows][rope / 2]
    const float *x;             // [rows][hidden_size]
    const float *input_norm, *q_norm, *kv_norm;
    float *hidden;              // [rows][hidden_size]
    rounded_rows hidden_rounded;
    float *q_latent;            // [rows][q_step]
    int64_t q_step;
    rounded_rows q_rounded;
    float *kv_latent;           // [rows][kv_step]
    int64_t kv_step;
    paged_rows latent;
    float *head_rows;           // [rows][head_step]: q_b's output
    int64_t head_step;
    const int64_t *absorb_factors; // [heads]: address of W_UK's scales [nope], 0 for none
    rounded_rows head_rounded;  // rows * heads of width nope
    float *query;               // [rows][heads][query_row]
    int64_t indexed;            // whether the layer owns an indexer
    float *index_key;           // [rows][index_step]
    int64_t index_step, index_heads, index_dim;
    const float *key_gain, *key_bias;
    paged_rows index_keys;
    float *index_weights;       // [rows][index_heads]
    double index_scale;
    float *index_query;         // [rows][index_heads][index_dim]
} prolog_call;

// Inner activations of a SwiGLU, then their rounding.
typedef struct {
    float *gate;           // [rows][step], overwritten
    const float *up;       // [rows][step]
    int64_t step;
    int64_t width;
    int64_t rotation;      // block of the Hadamard rotation, 1 for none
    double rotation_factor;
    int64_t round;         // whether to round
    rounded_rows out;
    int64_t rows;
    int64_t rows_per_chunk;
} inner_call;

// y[row] = sum over k of weight * out[place], experts in ascending order, plus the shared expert's row.
typedef struct {
    const float *out;          // [places][step]
    int64_t step;
    const float *shared;       // [rows][step]
    const int32_t *places;     // [rows][top_k]
    const float *weights;      // [rows][top_k]
    int64_t top_k;
    float *y;                  // [rows][width]
    int64_t width;
    int64_t rows;
    int64_t rows_per_chunk;
} combine_call;

// Element by element: norm, sum, rotation, sigmoid.
typedef struct {
    const float *x;
    const float *gain;
    float *y;
    int64_t width;
    int64_t rows;
    int64_t rows_per_chunk;
    double eps;
    int64_t block;
    double factor;
} rows_call;

// Scores of index keys and the best of them.
typedef struct {
    row_batch batch;
    const float *query;        // [rows][heads][dim]
    const float *head_weights; // [rows][heads]
    int64_t heads, dim, top_k;
    paged_rows keys;
    const int32_t *chunks;     // [chunks][5]: first row, rows, first key, keys, segment; rows of one sequence
    int64_t segments;          // segments a split row has at most
    int64_t split;             // whether rows are split by keys: then candidates go to the three lists, to be joined
    float *scores;             // [rows][segments][top_k]
    int32_t *candidates;       // their ranks
    int32_t *counts;           // [rows][segments]
    int32_t *selected;         // out: [rows][top_k] slots, ascending
    uint8_t *scratch;          // a worker's memory, scratch_bytes apart
    int64_t scratch_bytes;
} indexer_call;

// Softmax attention over selected slots, absorbed form. A row's keys are cut in segments of SEGMENT_KEYS ranks; each
// segment's state is computed alone and states are joined in order, whichever way the work is spread.
typedef struct {
    row_batch batch;
    const float *query;        // [rows][heads][kv_rank + rope]
    int64_t heads, kv_rank, rope;
    double scale;
    paged_rows latent;
    const int32_t *selected;   // [rows][top_k]
    const int32_t *counts;     // [rows]: selected slots; all visible ones where dense
    const int32_t *dense;      // [rows]
    int64_t top_k;
    const int32_t *chunks;     // [chunks][6]: first row, rows (of one sequence, all dense), first segment, segments,
                               // first head, end of heads
    int64_t whole;             // whether chunks are whole rows, whose result is written at once
    float *states;             // split rows: [rows][segments][state_floats]
    int64_t segments, state_floats;
    int64_t join_parts;        // chunks of a row's join, each of some heads
    float *out;                // [rows][heads][out_step]
    int64_t out_step;
    rounded_rows out_rounded;  // the same rounded, rows * heads of them; no codes: not wanted
    uint8_t *scratch;
    int64_t scratch_bytes;
} attention_call;

enum { SEGMENT_KEYS = 512, TILE_KEYS = 64, PAGE_ROWS = 64, GROUP_ROWS = 8 };

// Logits are read in slices of 64 blocks of 64 tokens.
enum { SAMPLE_BLOCK = 64, SAMPLE_SLICE = 4096, SLICE_CONTENDERS = 32 };

// What is asked of a row of logits; below the line, what Java makes of the earlier phases for the last one.
typedef struct {
    int64_t candidates;       // how many of the largest are listed
    int64_t scaled_sum, logit_sum, noise;  // whether each is wanted; all 0 once the row needs no last phase
    double temperature;
    int64_t key0, key1, position, choice;  // of the noise: uint32s
    // ----
    double max;
    double floor;             // scaled logit plus lower noise of the largest logit's token
} sampling_row;

// What the last phase finds in a slice (SamplingSlices.java).
typedef struct {
    float scaled_sum, logit_sum;
    float floor;              // the largest scaled logit plus lower noise, at least the row's
    int32_t contenders;       // how many have a sum with upper noise above the floor; only so many are listed as fit
    int32_t ids[SLICE_CONTENDERS];
    float tops[SLICE_CONTENDERS];  // their sums
} sampling_slice;

typedef struct {
    const float *logits;      // [rows][vocab]
    int64_t vocab, slices, slices_per_chunk;
    const sampling_row *rows;
    float *maxima;            // [rows][slices * 64]: of each block
    int32_t *invalid;         // [rows][slices]: first invalid token, -1 for none
    int32_t *found;           // [rows][2]: first invalid token or -1, number of candidates
    int64_t most;             // candidates of a row
    int32_t *ids;             // [rows][most]
    float *values;            // [rows][most]
    sampling_slice *found_in; // [rows][slices]
    uint8_t *scratch;
    int64_t scratch_bytes;
} sampling_call;

// A measurement of the machine.
typedef struct {
    const uint8_t *data;
    int64_t chunk_bytes;  // read: bytes of a chunk, a multiple of 128 KiB
    int64_t rounds;       // products: rounds of a chunk
    uint64_t *result;     // [chunks]: keeps the compiler from leaving the work out
} limit_call;

#endif
