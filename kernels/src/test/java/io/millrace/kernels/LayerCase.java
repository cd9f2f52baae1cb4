package io.millrace.kernels;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/// Random weights of an attention layer with its indexer, to be packed by any provider.
public final class LayerCase {
    public final MlaShape shape;
    public final int indexHeads;
    public final int indexDim;
    private final QuantFormat format;
    private final RopeStyle indexRope;
    private final MemorySegment inputNorm;
    private final MemorySegment qANorm;
    private final MemorySegment kvANorm;
    private final MemorySegment keyGain;
    private final MemorySegment keyBias;
    private final List<MatrixView> matrices = new ArrayList<>();
    private final List<MatrixView> keyUp = new ArrayList<>();
    private final List<MatrixView> valueUp = new ArrayList<>();

    public LayerCase(SeededRandom random, MlaShape shape, QuantFormat format, int indexHeads, int indexDim) {
        this.shape = shape;
        this.format = format;
        this.indexHeads = indexHeads;
        this.indexDim = indexDim;
        this.indexRope = random.below(2) == 0 ? RopeStyle.INTERLEAVED : RopeStyle.HALF_SPLIT;
        inputNorm = random.floats(shape.hiddenSize(), 1);
        qANorm = random.floats(shape.qLoraRank(), 1);
        kvANorm = random.floats(shape.kvLoraRank(), 1);
        keyGain = random.floats(indexDim, 1);
        keyBias = random.floats(indexDim, 1);
        int head = shape.nopeDim() + shape.ropeDim();
        matrices.add(random.matrix(format, shape.qLoraRank(), shape.hiddenSize(), 3));
        matrices.add(random.matrix(format, shape.heads() * head, shape.qLoraRank(), 0));
        matrices.add(random.matrix(format, shape.cacheRow(), shape.hiddenSize(), 1));
        matrices.add(random.matrix(format, shape.hiddenSize(), shape.heads() * shape.vDim(), 0));
        matrices.add(random.matrix(format, indexHeads * indexDim, shape.qLoraRank(), 0));
        matrices.add(random.matrix(format, indexDim, shape.hiddenSize(), 0));
        matrices.add(random.matrix(format, indexHeads, shape.hiddenSize(), 0));
        for (int h = 0; h < shape.heads(); h++) {
            keyUp.add(random.matrix(format, shape.nopeDim(), shape.kvLoraRank(), 0));
            valueUp.add(random.matrix(format, shape.vDim(), shape.kvLoraRank(), 0));
        }
    }

    /// A layer of the sizes of the embedded model.
    public static MlaShape mini() {
        return new MlaShape(256, 4, 128, 64, 32, 32, 64, RopeStyle.INTERLEAVED, 1e-5f, 1e-6f, 0.125f);
    }

    /// A layer in which nothing is a multiple of a vector.
    public static MlaShape odd() {
        return new MlaShape(33, 3, 13, 21, 7, 6, 9, RopeStyle.HALF_SPLIT, 1e-5f, 1e-6f, 0.3f);
    }

    public MlaWeights pack(Kernels kernels) {
        Arena arena = Arena.ofAuto();
        return new MlaWeights(
                shape,
                inputNorm,
                kernels.pack(matrices.get(0), arena),
                qANorm,
                kernels.pack(matrices.get(1), arena),
                kernels.pack(matrices.get(2), arena),
                kvANorm,
                keyUp.stream().map(m -> kernels.pack(m, arena)).toList(),
                keyUp.stream().map(m -> kernels.pack(m.transposed(), arena)).toList(),
                valueUp.stream().map(m -> kernels.pack(m, arena)).toList(),
                kernels.pack(matrices.get(3), arena));
    }

    public IndexerWeights packIndexer(Kernels kernels, int topK) {
        Arena arena = Arena.ofAuto();
        return new IndexerWeights(
                indexHeads,
                indexDim,
                topK,
                indexRope,
                kernels.pack(matrices.get(4), arena),
                kernels.pack(matrices.get(5), arena),
                keyGain,
                keyBias,
                kernels.pack(matrices.get(6), arena));
    }

    public QuantFormat format() {
        return format;
    }
}
