package io.millrace.engine.pack;

import io.millrace.engine.profile.WeightProfile;
import io.millrace.kernels.MatrixView;
import io.millrace.kernels.PackedMatrix;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/// The packed weights of a model, in a mapped file or in memory. Whatever it gives away is valid until
/// [#close].
public final class PackedWeights implements WeightSlots, AutoCloseable {
    private final Map<String, PackedMatrix> matrices;
    private final WeightProfile profile;
    private final String weightsDigest;
    private final @Nullable PackFile file;
    private final @Nullable Arena memory;
    private final Arena computed = Arena.ofShared();

    private PackedWeights(
            Map<String, PackedMatrix> matrices,
            WeightProfile profile,
            String weightsDigest,
            @Nullable PackFile file,
            @Nullable Arena memory) {
        this.matrices = matrices;
        this.profile = profile;
        this.weightsDigest = weightsDigest;
        this.file = file;
        this.memory = memory;
    }

    /// Takes over a file whose matrices are the planned ones.
    static PackedWeights mapped(PackFile file, Map<String, PackedMatrix> matrices) {
        return new PackedWeights(
                matrices, file.index().identity().profile(), file.index().weightsDigest(), file, null);
    }

    /// Collects what is packed into memory.
    static final class InMemory implements PackSink {
        private final Arena arena;
        private final Map<String, PackedMatrix> matrices = new LinkedHashMap<>();

        InMemory(Arena arena) {
            this.arena = arena;
        }

        @Override
        public Arena packingArena(Arena temporary) {
            return arena;
        }

        @Override
        public void add(String name, PackedMatrix matrix) {
            matrices.put(name, matrix);
        }

        /// The result, which owns the arena from now on.
        PackedWeights weights(WeightProfile profile, String weightsDigest) {
            return new PackedWeights(matrices, profile, weightsDigest, null, arena);
        }
    }

    /// Number formats of the matrices.
    public WeightProfile profile() {
        return profile;
    }

    /// SHA-256 of the weights they were packed from, 32 bytes.
    public byte[] weightsDigest() {
        return HexFormat.of().parseHex(weightsDigest);
    }

    /// The mapped file; empty if the weights are in memory.
    public Optional<Path> file() {
        return Optional.ofNullable(file).map(PackFile::path);
    }

    /// Packed bytes of each tensor of the checkpoint, all its parts together, in the order of packing.
    public Map<String, Long> tensorBytes() {
        Map<String, Long> bytes = new LinkedHashMap<>();
        matrices.forEach((name, matrix) -> {
            int part = name.indexOf('[');
            bytes.merge(part < 0 ? name : name.substring(0, part), matrix.data().byteSize(), Long::sum);
        });
        return bytes;
    }

    @Override
    public void section(String what) {}

    @Override
    public PackedMatrix matrix(MatrixSpec spec, MatrixPart part) {
        return find(part.entryName(spec));
    }

    @Override
    public MatrixView rows(MatrixSpec spec) {
        PackedMatrix found = find(spec.name());
        return MatrixView.rowMajor(found.format(), found.data(), found.outFeatures(), found.inFeatures());
    }

    @Override
    public MemorySegment vector(VectorSpec spec) {
        return find(spec.name()).data();
    }

    @Override
    public MemorySegment floats(int count) {
        return computed.allocate((long) count * Float.BYTES, PackHeader.ALIGNMENT);
    }

    private PackedMatrix find(String name) {
        PackedMatrix found = matrices.get(name);
        if (found == null) {
            throw new IllegalArgumentException("packed tensor: " + name + " (expected: one of the plan)");
        }
        return found;
    }

    /// Unmaps the file or frees the memory. Idempotent.
    @Override
    public void close() {
        if (file != null) {
            file.close();
        }
        if (memory != null && memory.scope().isAlive()) {
            memory.close();
        }
        if (computed.scope().isAlive()) {
            computed.close();
        }
    }
}
