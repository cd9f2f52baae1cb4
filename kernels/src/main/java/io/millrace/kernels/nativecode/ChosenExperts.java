package io.millrace.kernels.nativecode;

import io.millrace.kernels.GatedMlpWeights;
import io.millrace.kernels.PackedMatrix;
import io.millrace.kernels.gating.ExpertRouting;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.List;

/// Brings the objects of the experts that have rows into the cache before they are needed one expert after the other.
///
/// Since the last step all weights have passed through the caches, so each object comes from memory, and an expert's
/// matrix, its segment and its address can only be asked for one after the other. Here they are read kind by kind, so
/// that the memory answers for all experts at the same time. What is read is kept, or the compiler would leave it out.
final class ChosenExperts {
    private static final int MATRICES = 3;

    private GatedMlpWeights[] weights = new GatedMlpWeights[0];
    private PackedMatrix[] matrices = new PackedMatrix[0];
    private MemorySegment[] segments = new MemorySegment[0];
    private long[] addresses = new long[0];

    void collect(List<GatedMlpWeights> experts, ExpertRouting routing) {
        if (weights.length < experts.size()) {
            weights = Arrays.copyOf(weights, experts.size());
            matrices = Arrays.copyOf(matrices, MATRICES * experts.size());
            segments = Arrays.copyOf(segments, matrices.length);
            addresses = new long[matrices.length];
        }
        int count = 0;
        for (int e = 0; e < experts.size(); e++) {
            if (routing.start(e) < routing.start(e + 1)) {
                weights[count++] = experts.get(e);
            }
        }
        for (int i = 0; i < count; i++) {
            matrices[MATRICES * i] = weights[i].gate();
            matrices[MATRICES * i + 1] = weights[i].up();
            matrices[MATRICES * i + 2] = weights[i].down();
        }
        for (int i = 0; i < MATRICES * count; i++) {
            segments[i] = matrices[i].data();
        }
        for (int i = 0; i < MATRICES * count; i++) {
            addresses[i] = segments[i].address();
        }
    }
}
