package io.millrace.engine.schedule;

import io.millrace.engine.sampling.Sampled;
import org.jspecify.annotations.Nullable;

/// What a sequence starts with.
///
/// @param importedTokens  tokens, from the first one, whose sections have all been written into the
///                        reservation: whole blocks, plus a tail when it is not a multiple of 64. Fewer
///                        than the tokens known
/// @param boundaryState   post-final-norm state of the last imported token; empty takes it from the last
///                        imported block (whole blocks only), or when nothing is imported
/// @param nextToken       a token sampled elsewhere that follows the given ones, delivered like one sampled
///                        here; null samples it here
@SuppressWarnings("ArrayRecordComponent") // copied in and out
public record Handover(
        int importedTokens, float[] boundaryState, @Nullable Sampled nextToken) {
    private static final float[] NO_STATE = {};

    public Handover {
        if (importedTokens < 0) {
            throw new IllegalArgumentException("imported tokens: " + importedTokens + " (expected: 0 or more)");
        }
        boundaryState = boundaryState.clone();
    }

    /// Nothing imported, nothing sampled.
    public static Handover nothing() {
        return ofBlocks(0);
    }

    /// Whole blocks imported, nothing sampled.
    public static Handover ofBlocks(int importedTokens) {
        return new Handover(importedTokens, NO_STATE, null);
    }

    @Override
    public float[] boundaryState() {
        return boundaryState.clone();
    }
}
