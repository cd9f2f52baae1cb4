package io.millrace.kernels.vector;

import io.millrace.kernels.KvFormat;
import io.millrace.kernels.MlaForm;
import io.millrace.kernels.MlaShape;
import io.millrace.kernels.PagedRows;
import io.millrace.kernels.Selection;

/// Attention of one row over one run of tiles, with the scratch of one thread. A state is that of all heads together in
/// the absorbed form and one per head in the naive form.
final class AttentionWorker {
    private final SoftmaxTile softmax;
    private final WeightProduct product;
    private final Scratch.Buffer roundedBuffer;
    private final Scratch.Buffer queryBuffer;
    private final Scratch.Buffer tileBuffer;
    private final Scratch.Buffer expandedBuffer;

    AttentionWorker(Scratch scratch) {
        softmax = new SoftmaxTile(scratch);
        product = new WeightProduct(scratch);
        roundedBuffer = scratch.buffer();
        queryBuffer = scratch.buffer();
        tileBuffer = scratch.buffer();
        expandedBuffer = scratch.buffer();
    }

    static long stateFloats(AttentionRuns.Call call) {
        int heads = call.weights().shape().heads();
        return switch (call.input().form()) {
            case ABSORBED -> SoftmaxTile.stateFloats(heads, call.valueWidth());
            case NAIVE -> heads * SoftmaxTile.stateFloats(1, call.valueWidth());
        };
    }

    static void merge(AttentionRuns.Call call, long state, long next) {
        int heads = call.weights().shape().heads();
        int width = call.valueWidth();
        switch (call.input().form()) {
            case ABSORBED -> SoftmaxTile.merge(state, next, heads, width);
            case NAIVE -> {
                long step = SoftmaxTile.stateFloats(1, width) * 4;
                for (int h = 0; h < heads; h++) {
                    SoftmaxTile.merge(state + h * step, next + h * step, 1, width);
                }
            }
        }
    }

    static void finish(AttentionRuns.Call call, long state, long y) {
        int heads = call.weights().shape().heads();
        int width = call.valueWidth();
        switch (call.input().form()) {
            case ABSORBED -> SoftmaxTile.finish(state, heads, width, y, width * 4L);
            case NAIVE -> {
                long step = SoftmaxTile.stateFloats(1, width) * 4;
                for (int h = 0; h < heads; h++) {
                    SoftmaxTile.finish(state + h * step, 1, width, y + (long) h * width * 4, width * 4L);
                }
            }
        }
    }

    /// Makes room for the rows of a call.
    void reserve(AttentionRuns.Call call) {
        MlaShape s = call.weights().shape();
        tileBuffer.reserve(tileFloats(s));
        queryBuffer.reserve(queryFloats(s, call.input().form()));
        switch (call.input().form()) {
            case ABSORBED -> {
                softmax.reserve(s.heads(), s.kvLoraRank());
                if (call.input().latent().format() == KvFormat.INT8) {
                    roundedBuffer.reserve((long) s.heads() * s.cacheRow());
                }
            }
            case NAIVE -> {
                for (int h = 0; h < s.heads(); h++) {
                    product.reserve(call.weights().keyUp().get(h), AttentionRuns.TILE);
                    product.reserve(call.weights().valueUp().get(h), AttentionRuns.TILE);
                }
                softmax.reserve(1, s.vDim());
                expandedBuffer.reserve(expandedFloats(s));
            }
        }
    }

    /// Whole vectors are read from the last row, too.
    private static long tileFloats(MlaShape s) {
        return (long) AttentionRuns.TILE * s.cacheRow() + Lanes.COUNT;
    }

    private static long queryFloats(MlaShape s, MlaForm form) {
        return switch (form) {
            case ABSORBED -> (long) s.queryRow(form) * Lanes.padded(s.heads());
            case NAIVE -> (long) s.heads() * s.queryRow(form) * Lanes.COUNT;
        };
    }

    private static long expandedFloats(MlaShape s) {
        return (long) AttentionRuns.TILE * (Lanes.padded(s.nopeDim()) + s.ropeDim() + Lanes.padded(s.vDim()));
    }

    /// Attends over ranks `[from, end)` of the row's list and leaves the softmax state.
    void attend(AttentionRuns.Call call, int row, int from, int end, long state) {
        MlaShape s = call.weights().shape();
        int width = s.cacheRow();
        long tile = tileBuffer.floats(tileFloats(s));
        long query = query(call, row, state);
        for (int rank = from; rank < end; rank += AttentionRuns.TILE) {
            int count = Math.min(AttentionRuns.TILE, end - rank);
            gather(call, row, rank, count, tile);
            if (call.input().form() == MlaForm.ABSORBED) {
                long rowBytes = width * 4L;
                SoftmaxTile.Rows rows = new SoftmaxTile.Rows(tile, rowBytes, width, tile, rowBytes, s.kvLoraRank());
                softmax.add(query, s.heads(), s.softmaxScale(), rows, count, state);
            } else {
                addExpanded(call, query, tile, count, state);
            }
        }
    }

    /// Lays the row's queries out for the products and clears the state.
    private long query(AttentionRuns.Call call, int row, long state) {
        MlaShape s = call.weights().shape();
        MlaForm form = call.input().form();
        int dim = s.queryRow(form);
        long from = Lanes.address(call.input().query()) + (long) row * s.heads() * dim * 4;
        long query = queryBuffer.floats(queryFloats(s, form));
        if (form == MlaForm.ABSORBED) {
            if (call.input().latent().format() == KvFormat.INT8) {
                from = rounded(from, s);
            }
            HeadLanes.spread(from, s.heads(), dim, query);
            SoftmaxTile.clear(state, s.heads(), s.kvLoraRank());
            return query;
        }
        for (int h = 0; h < s.heads(); h++) {
            HeadLanes.spread(from + (long) h * dim * 4, 1, dim, query + (long) h * dim * Lanes.BYTES);
            SoftmaxTile.clear(state + h * SoftmaxTile.stateFloats(1, s.vDim()) * 4, 1, s.vDim());
        }
        return query;
    }

    /// Rounds the latent and the roped part of each head's query.
    private long rounded(long from, MlaShape s) {
        int dim = s.cacheRow();
        long to = roundedBuffer.floats((long) s.heads() * dim);
        Lanes.copy(from, to, (long) s.heads() * dim * 4);
        for (int h = 0; h < s.heads(); h++) {
            long head = to + (long) h * dim * 4;
            CodeRows.round(head, s.kvLoraRank());
            CodeRows.round(head + s.kvLoraRank() * 4L, s.ropeDim());
        }
        return to;
    }

    private static void gather(AttentionRuns.Call call, int row, int rank, int count, long tile) {
        PagedRows latent = call.input().latent();
        Selection selection = call.selection();
        int[] pages = call.batch().pages(row);
        int width = latent.rowElements();
        long pool = Lanes.address(latent.pool());
        for (int i = 0; i < count; i++) {
            int slot = selection.slot(row, rank + i);
            long to = tile + (long) i * width * 4;
            if (latent.format() == KvFormat.INT8) {
                CodeRows.read(latent, pages, slot, to);
            } else {
                RowMath.read(latent.format(), pool + latent.rowOffset(pages, slot), width, to);
            }
        }
    }

    /// Expands the tile's keys and values head by head and adds them to the head's state.
    private void addExpanded(AttentionRuns.Call call, long query, long tile, int count, long state) {
        MlaShape s = call.weights().shape();
        int dim = s.nopeDim() + s.ropeDim();
        int keyRow = Lanes.padded(s.nopeDim()) + s.ropeDim();
        int valueRow = Lanes.padded(s.vDim());
        long keys = expandedBuffer.floats(expandedFloats(s));
        long values = keys + (long) AttentionRuns.TILE * keyRow * 4;
        long latentRow = s.cacheRow() * 4L;
        long stateStep = SoftmaxTile.stateFloats(1, s.vDim()) * 4;
        SoftmaxTile.Rows rows = new SoftmaxTile.Rows(keys, keyRow * 4L, dim, values, valueRow * 4L, s.vDim());
        WeightProduct.Rows x = new WeightProduct.Rows(tile, latentRow, count);
        product.renew();
        for (int h = 0; h < s.heads(); h++) {
            product.compute(call.weights().keyUp().get(h), x, new WeightProduct.Rows(keys, keyRow * 4L, count));
            product.compute(call.weights().valueUp().get(h), x, new WeightProduct.Rows(values, valueRow * 4L, count));
            for (int i = 0; i < count; i++) {
                long rope = tile + i * latentRow + s.kvLoraRank() * 4L;
                Lanes.copy(rope, keys + (i * (long) keyRow + s.nopeDim()) * 4, s.ropeDim() * 4L);
            }
            long head = query + (long) h * dim * Lanes.BYTES;
            softmax.add(head, 1, s.softmaxScale(), rows, count, state + h * stateStep);
        }
    }
}
