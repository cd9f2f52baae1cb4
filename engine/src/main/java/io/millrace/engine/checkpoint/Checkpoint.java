package io.millrace.engine.checkpoint;

import io.millrace.kernels.MatrixView;
import io.millrace.kernels.QuantFormat;
import io.millrace.kernels.WeightSource;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;

/// An open checkpoint in Hugging Face layout: its configuration and its tensors, one read-only mapping
/// per file. Opening checks every tensor's name, shape and type against the configuration; afterwards
/// [#matrix] and [#vector] cannot meet a surprise. Views and copies into a mapping are valid until
/// [#close]. Thread-safe.
///
/// Special cases:
/// - The tensors of layer number `layers` (the MTP layer) must be there if `num_nextn_predict_layers` is
///   1. If it is 0 a complete MTP layer may be there and is not used; a partial one is an error.
/// - The copies of embedding and head that DeepSeek repeats in its MTP layer are checked for shape and
///   not used.
/// - With tied embeddings `lm_head.weight` may be absent; if present it must equal the embedding byte for
///   byte.
public final class Checkpoint implements AutoCloseable {
    private static final String CONFIG = "config.json";
    private static final String EMBEDDING = "model.embed_tokens.weight";
    private static final String HEAD = "lm_head.weight";
    private static final long VECTOR_ALIGNMENT = 64;

    private final Path directory;
    private final byte[] configJson;
    private final ModelConfig config;
    private final TensorFiles tensors;
    private final IntegerWeights integers;

    private Checkpoint(Path directory, byte[] configJson, ModelConfig config, TensorFiles tensors) {
        this.directory = directory;
        this.configJson = configJson;
        this.config = config;
        this.tensors = tensors;
        this.integers = new IntegerWeights(config, tensors);
    }

    /// Opens the model folder: `config.json` and either `model.safetensors` or
    /// `model.safetensors.index.json` with its shards.
    ///
    /// @throws io.millrace.engine.error.MillraceException `INVALID_CHECKPOINT`, naming file, tensor,
    /// found and expected
    public static Checkpoint open(Path directory) {
        return open(directory, JsonFile.read(new ModelFiles(directory).file(CONFIG)));
    }

    /// Opens tensors whose `config.json` is not in their folder yet: that of a checkpoint being made.
    ///
    /// @param configJson  its content
    /// @throws io.millrace.engine.error.MillraceException `INVALID_CHECKPOINT`, as above
    public static Checkpoint open(Path directory, byte[] configJson) {
        return open(directory, JsonFile.parse(directory.resolve(CONFIG), configJson.clone()));
    }

    private static Checkpoint open(Path directory, JsonFile json) {
        ModelFiles model = new ModelFiles(directory);
        ModelConfig config = ConfigReader.read(json);
        TensorFiles tensors = TensorFiles.open(model);
        boolean opened = false;
        try {
            TensorValidator.validate(config, tensors, model);
            Checkpoint checkpoint = new Checkpoint(directory, json.bytes(), config, tensors);
            checkpoint.checkTiedHead();
            opened = true;
            return checkpoint;
        } finally {
            if (!opened) {
                tensors.close();
            }
        }
    }

    public Path directory() {
        return directory;
    }

    public ModelConfig config() {
        return config;
    }

    /// Bytes of `config.json`.
    public byte[] configJson() {
        return configJson.clone();
    }

    /// Whether the checkpoint holds a tensor of that name.
    public boolean has(String name) {
        return tensors.has(name);
    }

    /// Whether a tensor is there in an element type.
    public boolean isStoredAs(String name, TensorType type) {
        return tensors.has(name) && tensors.info(name).type() == type;
    }

    /// Bytes of all tensors.
    public long tensorBytes() {
        return tensors.inNameOrder().values().stream()
                .mapToLong(TensorInfo::sizeBytes)
                .sum();
    }

    /// A weight as it is stored: integers as a [io.millrace.kernels.QuantizedMatrix], everything else as
    /// [#matrix] gives it. int8 codes are a view of the mapping, int4 codes are unpacked into `arena`,
    /// the scales are copied there.
    ///
    /// @param name  of the weight, `….weight`, whatever its parts are called
    /// @throws io.millrace.engine.error.MillraceException `INVALID_CHECKPOINT` if a code or a scale is
    /// one that no quantiser writes
    /// @throws IllegalArgumentException if there is no such matrix
    public WeightSource weight(String name, Arena arena) {
        boolean tiedHead = config.tiedEmbeddings() && name.equals(HEAD);
        if (!tiedHead && integers.holds(name)) {
            return integers.read(name, arena);
        }
        return matrix(name, arena);
    }

    /// A floating-point weight matrix. BF16 and F32 are views of the mapping where their address allows
    /// it; F16 and FP8 are widened to float32 in `arena`, FP8 times its block scales. `lm_head.weight`
    /// of a model with tied embeddings is the embedding.
    ///
    /// @throws IllegalArgumentException if there is no such matrix
    public MatrixView matrix(String name, Arena arena) {
        if (config.tiedEmbeddings() && name.equals(HEAD)) {
            return matrix(EMBEDDING, arena);
        }
        TensorInfo info = tensors.info(name);
        if (info.shape().size() != 2) {
            throw new IllegalArgumentException(name + ": shape " + info.shape() + " (expected: a matrix)");
        }
        int rows = Math.toIntExact(info.shape().get(0));
        int columns = Math.toIntExact(info.shape().get(1));
        MemorySegment data = data(name);
        return switch (info.type()) {
            case BF16 -> MatrixView.rowMajor(QuantFormat.BF16, aligned(data, Short.BYTES, arena), rows, columns);
            case F32 -> MatrixView.rowMajor(QuantFormat.F32, aligned(data, Float.BYTES, arena), rows, columns);
            case F16 -> {
                MemorySegment wide = floats(info.elements(), arena);
                Widening.widen(TensorType.F16, data, info.elements(), wide);
                yield MatrixView.rowMajor(QuantFormat.F32, wide, rows, columns);
            }
            case F8_E4M3 -> {
                MemorySegment wide = floats(info.elements(), arena);
                Fp8Blocks blocks = config.fp8().orElseThrow();
                Widening.widenFp8(data, data(TensorValidator.scaleName(name)), blocks, columns, wide);
                yield MatrixView.rowMajor(QuantFormat.F32, wide, rows, columns);
            }
            case BOOL, U8, I8, F8_E5M2, I16, U16, I32, U32, I64, U64, F64 ->
                throw new IllegalArgumentException(name + ": dtype " + info.type() + " (expected: a weight)");
        };
    }

    /// Checks that all numbers of a floating-point weight are finite, those of its block scales too.
    ///
    /// @throws io.millrace.engine.error.MillraceException `INVALID_CHECKPOINT`, naming file, tensor and
    /// element
    public void requireFinite(String name) {
        String stored = config.tiedEmbeddings() && name.equals(HEAD) ? EMBEDDING : name;
        FiniteNumbers.require(tensors.fileOf(stored), tensors.info(stored));
        if (tensors.info(stored).type() == TensorType.F8_E4M3) {
            String scales = TensorValidator.scaleName(stored);
            FiniteNumbers.require(tensors.fileOf(scales), tensors.info(scales));
        }
    }

    /// A vector as a float32 copy in `arena`, aligned to 64 bytes.
    ///
    /// @throws IllegalArgumentException if there is no such vector
    public MemorySegment vector(String name, Arena arena) {
        TensorInfo info = tensors.info(name);
        if (info.shape().size() != 1) {
            throw new IllegalArgumentException(name + ": shape " + info.shape() + " (expected: a vector)");
        }
        MemorySegment result = floats(info.elements(), arena);
        Widening.widen(info.type(), data(name), info.elements(), result);
        return result;
    }

    /// SHA-256 that identifies the weights. It runs over, with all integers little-endian, u32 length ‖
    /// bytes of `config.json`, then per tensor in name order u32 length ‖ name, u32 length ‖ dtype, u32
    /// rank ‖ u64 extents, SHA-256 of its data. Reads all weights.
    public byte[] weightsDigest() {
        WeightsDigest digest = new WeightsDigest(configJson);
        tensors.inNameOrder().forEach((name, info) -> digest.add(info, data(name)));
        return digest.finish();
    }

    /// Unmaps the files. Idempotent.
    @Override
    public void close() {
        tensors.close();
    }

    private MemorySegment data(String name) {
        return tensors.fileOf(name).data(name);
    }

    private void checkTiedHead() {
        if (!config.tiedEmbeddings() || !tensors.has(HEAD)) {
            return;
        }
        boolean equal = tensors.info(HEAD).type() == tensors.info(EMBEDDING).type()
                && data(HEAD).mismatch(data(EMBEDDING)) < 0;
        if (!equal) {
            throw InvalidCheckpoint.of(
                    tensors.fileOf(HEAD).path(),
                    "tensor " + HEAD + " differs from " + EMBEDDING,
                    "equal or absent with tie_word_embeddings");
        }
    }

    private static MemorySegment aligned(MemorySegment data, int elementBytes, Arena arena) {
        return data.address() % elementBytes == 0
                ? data
                : arena.allocate(data.byteSize(), VECTOR_ALIGNMENT).copyFrom(data);
    }

    private static MemorySegment floats(long elements, Arena arena) {
        return arena.allocate(elements * Float.BYTES, VECTOR_ALIGNMENT);
    }
}
