package io.millrace.benchmarks;

import io.millrace.kernels.KvFormat;
import io.millrace.kernels.MlaShape;
import io.millrace.kernels.QuantFormat;
import io.millrace.kernels.nativecode.MachineLimits;

/// What one call of an operator costs at least.
///
/// @param bytes   read from memory
/// @param int8    integer multiply-adds
/// @param floats  float32 multiply-adds
record OperatorCost(double bytes, double int8, double floats) {
    private static final double W4_GROUP_BYTES = 2.0 / 32;

    /// Shortest possible time: of reading or of computing, whichever takes longer.
    double seconds(MachineLimits machine) {
        double compute = 2 * int8 / machine.int8OpsPerSecond() + 2 * floats / machine.floatOpsPerSecond();
        return Math.max(bytes / machine.readBytesPerSecond(), compute);
    }

    static OperatorCost linear(Sizes sizes, QuantFormat format, int rows) {
        double weights = (double) sizes.outputs() * sizes.hidden();
        return products(format, weights * bytes(format), weights * rows);
    }

    /// Experts of which each is chosen by some row, and the shared one in int8.
    static OperatorCost experts(Sizes sizes, QuantFormat format, int rows) {
        double expert = 3.0 * sizes.hidden() * sizes.expertWidth();
        double used = Math.min(sizes.experts(), (double) rows * sizes.chosen());
        double gate = (double) sizes.experts() * sizes.hidden();
        double bytes = used * expert * bytes(format) + expert + gate * Float.BYTES;
        return new OperatorCost(bytes, rows * (sizes.chosen() + 1) * expert, rows * gate);
    }

    /// In int8, with an indexer.
    static OperatorCost prolog(Sizes sizes, int rows) {
        MlaShape mla = sizes.mla();
        double weights = (double) mla.hiddenSize() * (mla.qLoraRank() + mla.cacheRow() + sizes.indexDim())
                + (double) mla.qLoraRank() * mla.heads() * (mla.nopeDim() + mla.ropeDim())
                + (double) mla.heads() * mla.nopeDim() * mla.kvLoraRank()
                + (double) mla.qLoraRank() * sizes.indexHeads() * sizes.indexDim();
        double floats = (double) mla.hiddenSize() * sizes.indexHeads();
        return new OperatorCost(weights + floats * Float.BYTES, rows * weights, rows * floats);
    }

    static OperatorCost indexer(Sizes sizes, KvFormat kv, int rows) {
        double keys = (double) sizes.context() * sizes.indexDim();
        double products = rows * keys * sizes.indexHeads();
        boolean integer = kv == KvFormat.INT8;
        return new OperatorCost(keys * kv.elementBytes(), integer ? products : 0, integer ? 0 : products);
    }

    /// Values of W_UV included; selections of neighbouring rows are taken to be the same.
    static OperatorCost attention(Sizes sizes, KvFormat kv, int rows) {
        MlaShape mla = sizes.mla();
        double pairs = (double) rows * mla.heads() * sizes.topK();
        double up = (double) mla.heads() * mla.vDim() * mla.kvLoraRank();
        double scores = pairs * mla.cacheRow();
        boolean integer = kv == KvFormat.INT8;
        return new OperatorCost(
                (double) sizes.topK() * mla.cacheRow() * kv.elementBytes() + up,
                rows * up + (integer ? scores : 0),
                pairs * mla.kvLoraRank() + (integer ? 0 : scores));
    }

    private static OperatorCost products(QuantFormat format, double bytes, double products) {
        return format.isInteger() ? new OperatorCost(bytes, products, 0) : new OperatorCost(bytes, 0, products);
    }

    private static double bytes(QuantFormat format) {
        return switch (format) {
            case F32 -> Float.BYTES;
            case BF16 -> Short.BYTES;
            case W8A8 -> 1;
            case W4A8 -> 0.5 + W4_GROUP_BYTES;
        };
    }
}
