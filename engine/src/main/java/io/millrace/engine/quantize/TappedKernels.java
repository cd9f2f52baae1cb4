package io.millrace.engine.quantize;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT;

import io.millrace.kernels.AttentionRows;
import io.millrace.kernels.ForwardingKernels;
import io.millrace.kernels.GatedMlpWeights;
import io.millrace.kernels.IndexerProlog;
import io.millrace.kernels.Kernels;
import io.millrace.kernels.MlaShape;
import io.millrace.kernels.MlaWeights;
import io.millrace.kernels.MoeWeights;
import io.millrace.kernels.PackedMatrix;
import io.millrace.kernels.RopeRows;
import io.millrace.kernels.RowBatch;
import io.millrace.kernels.Selection;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.IdentityHashMap;
import org.jspecify.annotations.Nullable;

/// Kernels that tell what every matrix of a model is given. Inputs that arise inside a fused operator
/// are computed a second time, by the operators it is fused from. A layer is told by the order in which
/// layers are first computed.
final class TappedKernels extends ForwardingKernels {
    private final CollectedMoments moments;
    private final IdentityHashMap<MlaWeights, Integer> layers = new IdentityHashMap<>();
    private String layer = "";
    private @Nullable PackedMatrix output;

    TappedKernels(Kernels kernels, CollectedMoments moments) {
        super(kernels);
        this.moments = moments;
    }

    private void enter(MlaWeights weights) {
        layer = "model.layers." + layers.computeIfAbsent(weights, unseen -> layers.size()) + ".";
        output = weights.output();
    }

    @Override
    @SuppressWarnings("ReferenceEquality") // the very matrix is meant
    public void linear(PackedMatrix weights, MemorySegment x, int rows, MemorySegment y) {
        String name;
        if (weights == output) {
            name = layer + "self_attn.o_proj.weight";
        } else if (weights.inFeatures() == 2 * weights.outFeatures()) {
            name = "model.layers." + mtpLayer() + ".eh_proj.weight";
        } else {
            name = "lm_head.weight";
        }
        moments.add(name, x, rows, weights.inFeatures());
        kernels.linear(weights, x, rows, y);
    }

    /// The draft layer is the last to be seen, and its projection runs right before it.
    private int mtpLayer() {
        int last = Integer.parseInt(layer.substring("model.layers.".length(), layer.length() - 1));
        return last + 1;
    }

    @Override
    public void mlaProlog(
            MlaWeights weights,
            MemorySegment x,
            RowBatch batch,
            RopeRows rope,
            AttentionRows out,
            @Nullable IndexerProlog indexer) {
        enter(weights);
        MlaShape shape = weights.shape();
        int rows = batch.rows();
        String self = layer + "self_attn.";
        try (Arena arena = Arena.ofShared()) {
            MemorySegment normed = floats(arena, rows, shape.hiddenSize());
            kernels.rmsNorm(x.asSlice(0, normed.byteSize()), weights.inputNorm(), shape.rmsEps(), rows, normed);
            moments.add(self + "q_a_proj.weight", normed, rows, shape.hiddenSize());
            MemorySegment query = floats(arena, rows, shape.qLoraRank());
            kernels.linear(weights.qA(), normed, rows, query);
            kernels.rmsNorm(query, weights.qANorm(), shape.latentRmsEps(), rows, query);
            moments.add(self + "q_b_proj.weight", query, rows, shape.qLoraRank());
            MemorySegment keys = floats(arena, rows, shape.cacheRow());
            kernels.linear(weights.kvA(), normed, rows, keys);
            MemorySegment latent = columns(keys, rows, shape.cacheRow(), shape.kvLoraRank(), arena);
            kernels.rmsNorm(latent, weights.kvANorm(), shape.latentRmsEps(), rows, latent);
            moments.add(self + "kv_b_proj.weight", latent, rows, shape.kvLoraRank());
        }
        kernels.mlaProlog(weights, x, batch, rope, out, indexer);
    }

    @Override
    public void sparseMlaAttention(
            MlaWeights weights, AttentionRows input, RowBatch batch, Selection selection, MemorySegment y) {
        enter(weights);
        kernels.sparseMlaAttention(weights, input, batch, selection, y);
    }

    @Override
    public void gatedMlp(GatedMlpWeights weights, MemorySegment x, int rows, MemorySegment y) {
        tap(layer + "mlp.", weights, x, rows);
        kernels.gatedMlp(weights, x, rows, y);
    }

    @Override
    public void moeExperts(MoeWeights weights, MemorySegment x, int rows, MemorySegment y) {
        int experts = weights.gating().experts();
        int width = weights.gate().inFeatures();
        try (Arena arena = Arena.ofShared()) {
            MemorySegment scores = floats(arena, rows, experts);
            kernels.linear(weights.gate(), x, rows, scores);
            boolean[][] chosen = ExpertChoice.of(weights, scores, rows);
            MemorySegment gathered = floats(arena, rows, width);
            for (int expert = 0; expert < experts; expert++) {
                int count = 0;
                for (int row = 0; row < rows; row++) {
                    if (chosen[row][expert]) {
                        long bytes = (long) width * Float.BYTES;
                        MemorySegment.copy(x, row * bytes, gathered, count++ * bytes, bytes);
                    }
                }
                if (count > 0) {
                    tap(layer + "mlp.experts." + expert + ".", weights.experts().get(expert), gathered, count);
                }
            }
        }
        tap(layer + "mlp.shared_experts.", weights.shared(), x, rows);
        kernels.moeExperts(weights, x, rows, y);
    }

    private void tap(String prefix, GatedMlpWeights weights, MemorySegment x, int rows) {
        moments.add(prefix + "gate_proj.weight", x, rows, weights.gate().inFeatures());
        int width = weights.gate().outFeatures();
        try (Arena arena = Arena.ofShared()) {
            MemorySegment gate = floats(arena, rows, width);
            MemorySegment up = floats(arena, rows, width);
            kernels.linear(weights.gate(), x, rows, gate);
            kernels.linear(weights.up(), x, rows, up);
            for (long i = 0; i < (long) rows * width; i++) {
                float g = gate.getAtIndex(JAVA_FLOAT, i);
                double inner = g / (1 + Math.exp(-g)) * up.getAtIndex(JAVA_FLOAT, i);
                gate.setAtIndex(JAVA_FLOAT, i, (float) inner);
            }
            moments.add(prefix + "down_proj.weight", gate, rows, width);
        }
    }

    private static MemorySegment floats(Arena arena, int rows, int width) {
        return arena.allocate((long) rows * width * Float.BYTES, 64);
    }

    private static MemorySegment columns(MemorySegment from, int rows, int width, int count, Arena arena) {
        MemorySegment to = floats(arena, rows, count);
        for (int row = 0; row < rows; row++) {
            MemorySegment.copy(
                    from,
                    (long) row * width * Float.BYTES,
                    to,
                    (long) row * count * Float.BYTES,
                    (long) count * Float.BYTES);
        }
        return to;
    }
}
