package io.millrace.engine.sampling;

import io.millrace.kernels.Kernels;
import io.millrace.kernels.provider.KernelProviders;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/// Draws one token after the other, with the fastest kernels of this machine.
final class RowSampler {
    private static final Kernels KERNELS = KernelProviders.select("auto", 1).kernels();

    private final Sampler sampler;
    private final Kernels kernels;
    private final MemorySegment row;

    RowSampler(int vocabSize) {
        this(vocabSize, KERNELS);
    }

    RowSampler(int vocabSize, Kernels kernels) {
        this.sampler = new Sampler(vocabSize, 1);
        this.kernels = kernels;
        this.row = Arena.ofAuto().allocate((long) vocabSize * Float.BYTES, 64);
    }

    Sampled sample(MemorySegment logits, SamplingParams params, long seed, int choiceIndex, int tokenPosition) {
        sampler.clear();
        sampler.add(params, seed, choiceIndex, tokenPosition);
        sampler.scan(kernels, logits);
        return sampler.draw(0);
    }

    Sampled sample(float[] logits, SamplingParams params, long seed, int choiceIndex, int tokenPosition) {
        MemorySegment part = row.asSlice(0, Math.min(row.byteSize(), (long) logits.length * Float.BYTES));
        MemorySegment.copy(logits, 0, part, ValueLayout.JAVA_FLOAT, 0, logits.length);
        return sample(part, params, seed, choiceIndex, tokenPosition);
    }

    /// How many rows had to be read once more.
    long wholeRows() {
        return sampler.wholeRows();
    }
}
