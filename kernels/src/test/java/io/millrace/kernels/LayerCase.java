package io.millrace.kernels;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

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
        QuantFormat views = format.isInteger() ? QuantFormat.F32 : format;
        this.indexHeads = indexHeads;
        this.indexDim = indexDim;
        this.indexRope = random.below(2) == 0 ? RopeStyle.INTERLEAVED : RopeStyle.HALF_SPLIT;
        inputNorm = random.floats(shape.hiddenSize(), 1);
        qANorm = random.floats(shape.qLoraRank(), 1);
        kvANorm = random.floats(shape.kvLoraRank(), 1);
        keyGain = random.floats(indexDim, 1);
        keyBias = random.floats(indexDim, 1);
        int head = shape.nopeDim() + shape.ropeDim();
        matrices.add(random.matrix(views, shape.qLoraRank(), shape.hiddenSize(), 3));
        matrices.add(random.matrix(views, shape.heads() * head, shape.qLoraRank(), 0));
        matrices.add(random.matrix(views, shape.cacheRow(), shape.hiddenSize(), 1));
        matrices.add(random.matrix(views, shape.hiddenSize(), shape.heads() * shape.vDim(), 0));
        matrices.add(random.matrix(views, indexHeads * indexDim, shape.qLoraRank(), 0));
        matrices.add(random.matrix(views, indexDim, shape.hiddenSize(), 0));
        matrices.add(random.matrix(views, indexHeads, shape.hiddenSize(), 0));
        for (int h = 0; h < shape.heads(); h++) {
            keyUp.add(random.matrix(views, shape.nopeDim(), shape.kvLoraRank(), 0));
            valueUp.add(random.matrix(views, shape.vDim(), shape.kvLoraRank(), 0));
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
        return new MlaWeights(
                shape,
                inputNorm,
                pack(kernels, matrices.get(0)),
                qANorm,
                pack(kernels, matrices.get(1)),
                pack(kernels, matrices.get(2)),
                kvANorm,
                keyUp.stream().map(m -> pack(kernels, m)).toList(),
                all(keyUp.stream().map(m -> packTransposed(kernels, m))),
                all(valueUp.stream().map(m -> pack(kernels, m))),
                pack(kernels, matrices.get(3)));
    }

    private static PackedMatrices all(Stream<PackedMatrix> heads) {
        return PackedMatrices.of(head -> "head " + head, heads.toList());
    }

    public IndexerWeights packIndexer(Kernels kernels, int topK) {
        return new IndexerWeights(
                indexHeads,
                indexDim,
                topK,
                indexRope,
                pack(kernels, matrices.get(4)),
                pack(kernels, matrices.get(5)),
                keyGain,
                keyBias,
                pack(kernels, matrices.get(6)));
    }

    /// Groups of W4A8 weights; `format` rounds floats to the other formats.
    private static final int GROUP = 32;

    /// A matrix in a format, packed.
    public static PackedMatrix pack(Kernels kernels, QuantFormat format, MatrixView matrix) {
        Arena arena = Arena.ofAuto();
        return kernels.pack(
                switch (format) {
                    case F32, BF16 -> matrix;
                    case W8A8 -> WeightQuantizer.int8(matrix, arena);
                    case W4A8 -> WeightQuantizer.int4(matrix, GROUP, arena);
                },
                arena);
    }

    /// The same matrix transposed: int8 codes stay, so their scales then belong to the inputs.
    private PackedMatrix packTransposed(Kernels kernels, MatrixView matrix) {
        Arena arena = Arena.ofAuto();
        return format == QuantFormat.W8A8
                ? kernels.pack(WeightQuantizer.int8(matrix, arena).transposed(), arena)
                : pack(kernels, format, matrix.transposed());
    }

    private PackedMatrix pack(Kernels kernels, MatrixView matrix) {
        return pack(kernels, format, matrix);
    }

    public QuantFormat format() {
        return format;
    }
}
