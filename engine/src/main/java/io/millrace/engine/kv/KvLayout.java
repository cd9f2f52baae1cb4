package io.millrace.engine.kv;

import io.millrace.engine.checkpoint.ModelConfig;
import io.millrace.kernels.KvFormat;
import io.millrace.kernels.MlaShape;
import io.millrace.kernels.PagedRows;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;

/// Where the cached rows of 64 tokens lie in a page. A page is a run of sections, each on a 64-byte
/// border:
///
/// - one section per layer: 64 latent rows `[kvLoraRank normed latent | ropeDim roped key]`, then, in a
///   layer that owns an indexer, 64 index keys `[indexHeadDim]`; in int8 each of the two is followed by
///   its rows' scales, float32 `[64, 2]` (latent, roped key) and `[64]`;
/// - with multi-token prediction, one more such section: slot `i` holds the row of the pair `(h_{i-1},
///   t_i)`, slot 0 of a sequence is empty (zeros);
/// - the boundary state: the post-final-norm state of the block's last token, float32 `[hiddenSize]`,
///   written once the block is full.
///
/// Sections are the units that travel between services, so their bytes are part of the contract:
/// little-endian, rows in token order, and [#layoutId()] names everything that decides them.
public final class KvLayout {
    /// Tokens of a page and of a block.
    public static final int PAGE_TOKENS = PagedRows.PAGE_TOKENS;

    private static final int ALIGNMENT = 64;

    private final Shape shape;
    private final KvFormat format;
    private final long[] sectionOffsets;
    private final int[] sectionBytes;
    private final long pageBytes;
    private final String layoutId;

    /// What the sections are made of.
    ///
    /// @param latentRank   width of the normed latent
    /// @param ropeDim      width of the roped key
    /// @param indexDim     width of an index key
    /// @param hiddenSize   width of the boundary state
    /// @param ownsIndexer  for each layer, the multi-token-prediction layer last, whether it stores
    ///                     index keys
    /// @param hasMtp       whether the last layer is the multi-token-prediction layer
    @SuppressWarnings("ArrayRecordComponent") // copied in and out
    public record Shape(
            int latentRank, int ropeDim, int indexDim, int hiddenSize, boolean[] ownsIndexer, boolean hasMtp) {
        public Shape {
            if (latentRank < 1 || ropeDim < 1 || indexDim < 1 || hiddenSize < 1) {
                throw new IllegalArgumentException("row widths: " + latentRank + ", " + ropeDim + ", " + indexDim + ", "
                        + hiddenSize + " (expected: all at least 1)");
            }
            if (ownsIndexer.length < (hasMtp ? 2 : 1)) {
                throw new IllegalArgumentException("layers: " + ownsIndexer.length + " (expected: at least one)");
            }
            ownsIndexer = ownsIndexer.clone();
        }

        @Override
        public boolean[] ownsIndexer() {
            return ownsIndexer.clone();
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof Shape that
                    && latentRank == that.latentRank
                    && ropeDim == that.ropeDim
                    && indexDim == that.indexDim
                    && hiddenSize == that.hiddenSize
                    && hasMtp == that.hasMtp
                    && Arrays.equals(ownsIndexer, that.ownsIndexer);
        }

        @Override
        public int hashCode() {
            return Arrays.hashCode(ownsIndexer) * 31 + latentRank + ropeDim * 7 + indexDim * 13 + hiddenSize * 17;
        }

        @Override
        public String toString() {
            return "latent=" + latentRank + ",rope=" + ropeDim + ",index=" + indexDim + ",hidden=" + hiddenSize
                    + ",owners=" + owners() + ",mtp=" + (hasMtp ? 1 : 0);
        }

        private String owners() {
            StringBuilder text = new StringBuilder(ownsIndexer.length);
            for (boolean owns : ownsIndexer) {
                text.append(owns ? 'F' : 'S');
            }
            return text.toString();
        }
    }

    /// @param shape   what the sections are made of
    /// @param format  number format of the cached rows
    public KvLayout(Shape shape, KvFormat format) {
        this.shape = shape;
        this.format = format;
        int layers = shape.ownsIndexer.length;
        this.sectionOffsets = new long[layers + 1];
        this.sectionBytes = new int[layers + 1];
        long offset = 0;
        for (int section = 0; section <= layers; section++) {
            sectionOffsets[section] = offset;
            sectionBytes[section] = section == layers
                    ? Math.multiplyExact(shape.hiddenSize, Float.BYTES)
                    : Math.addExact(latentBytes(), shape.ownsIndexer[section] ? indexBytes() : 0);
            offset = align(offset + sectionBytes[section]);
        }
        this.pageBytes = offset;
        this.layoutId = "kv-pages-1;tokens=" + PAGE_TOKENS + ";format="
                + switch (format) {
                    case F32 -> "f32";
                    case BF16 -> "bf16";
                    case INT8 -> "int8";
                }
                + ";" + shape;
    }

    /// The layout of a model's pages.
    public static KvLayout of(ModelConfig config, KvFormat format) {
        boolean[] ownsIndexer = new boolean[config.layers() + config.mtpLayers()];
        for (int layer = 0; layer < ownsIndexer.length; layer++) {
            ownsIndexer[layer] = config.ownsIndexer(layer);
        }
        MlaShape mla = config.mlaShape();
        return new KvLayout(
                new Shape(
                        mla.kvLoraRank(),
                        mla.ropeDim(),
                        config.indexHeadDim(),
                        config.hiddenSize(),
                        ownsIndexer,
                        config.mtpLayers() > 0),
                format);
    }

    private int latentBytes() {
        return PagedRows.sectionBytes(format, shape.latentRank + shape.ropeDim, 2);
    }

    private int indexBytes() {
        return PagedRows.sectionBytes(format, shape.indexDim, 1);
    }

    private static long align(long bytes) {
        return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }

    public Shape shape() {
        return shape;
    }

    public KvFormat format() {
        return format;
    }

    /// Sections of a page: the layers, the multi-token-prediction layer if there is one, the boundary
    /// state.
    public int sections() {
        return sectionBytes.length;
    }

    /// The section of the boundary state: the last one.
    public int boundarySection() {
        return sectionBytes.length - 1;
    }

    /// Payload bytes of a section.
    public int sectionBytes(int section) {
        return sectionBytes[section];
    }

    /// Bytes from the start of a page to a section.
    public long sectionOffset(int section) {
        return sectionOffsets[section];
    }

    /// Bytes from one page to the next.
    public long pageBytes() {
        return pageBytes;
    }

    /// Payload bytes of all sections of a page: what a block holds on the wire and in the cache.
    public long blockBytes() {
        long bytes = 0;
        for (int section : sectionBytes) {
            bytes += section;
        }
        return bytes;
    }

    /// Names everything that decides the bytes of a page; part of the KV namespace.
    public String layoutId() {
        return layoutId;
    }

    /// The latent rows of a layer in a pool of pages. Layer `layers` is the multi-token-prediction layer.
    public PagedRows latent(MemorySegment pool, int layer) {
        checkLayer(layer);
        return new PagedRows(
                pool, pageBytes, sectionOffsets[layer], shape.latentRank + shape.ropeDim, shape.latentRank, format);
    }

    /// The index keys of a layer that owns an indexer, in a pool of pages.
    public PagedRows index(MemorySegment pool, int layer) {
        checkLayer(layer);
        if (!shape.ownsIndexer[layer]) {
            throw new IllegalArgumentException("index keys of layer " + layer
                    + " (expected: a layer that owns an indexer, of " + shape.owners() + ")");
        }
        return new PagedRows(pool, pageBytes, sectionOffsets[layer] + latentBytes(), shape.indexDim, format);
    }

    private void checkLayer(int layer) {
        if (layer < 0 || layer >= boundarySection()) {
            throw new IllegalArgumentException("layer: " + layer + " (expected: 0.." + (boundarySection() - 1) + ")");
        }
    }

    /// Whether a section holds numbers only, neither NaN nor infinite.
    ///
    /// @param bytes  the section's payload
    public boolean isFinite(int section, byte[] bytes) {
        if (section == boundarySection()) {
            return FiniteBytes.ofFloats(bytes, 0, bytes.length);
        }
        if (format == KvFormat.INT8) {
            int latentCodes = PAGE_TOKENS * (shape.latentRank + shape.ropeDim);
            int indexCodes = latentBytes() + PAGE_TOKENS * shape.indexDim;
            return FiniteBytes.ofFloats(bytes, latentCodes, latentBytes())
                    && (!shape.ownsIndexer[section] || FiniteBytes.ofFloats(bytes, indexCodes, bytes.length));
        }
        return format == KvFormat.F32
                ? FiniteBytes.ofFloats(bytes, 0, bytes.length)
                : FiniteBytes.ofBfloat16s(bytes, 0, bytes.length);
    }
}
