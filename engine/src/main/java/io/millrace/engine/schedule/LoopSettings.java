package io.millrace.engine.schedule;

import org.jspecify.annotations.Nullable;

/// Limits of one engine loop. Null in the constructor means the default. The names are those of
/// configuration keys.
///
/// @param maxSequences        most sequences that hold pages at a time, those still importing included;
///                            default 16
/// @param maxWaiting          most requests that wait for a place or for pages; one more is refused.
///                            Default 64
/// @param stepTokens          most rows of a step: one for each decoding sequence, the rest for prefill
///                            chunks; default 256
/// @param admissionMillis     longest wait of a request for its pages; default 10000
/// @param stepMillis          time a step should take: prefill chunks are cut so that it is kept, by what
///                            recent steps took, down to 32 rows of prompts a step. Running streams, those
///                            of other loops in the JVM too, wait that long for their next token beside a
///                            long prompt. It changes no result. Default 100
public record LoopSettings(
        @Nullable Integer maxSequences,
        @Nullable Integer maxWaiting,
        @Nullable Integer stepTokens,
        @Nullable Integer admissionMillis,
        @Nullable Integer stepMillis) {
    private static final int MAX_SEQUENCES = 4096;
    private static final int MAX_WAITING = 1 << 16;
    private static final int MAX_STEP_TOKENS = 1 << 16;
    private static final int MAX_ADMISSION_MILLIS = 600_000;
    private static final int MAX_STEP_MILLIS = 600_000;

    public LoopSettings {
        maxSequences = inRange("max-sequences", maxSequences, 16, 1, MAX_SEQUENCES);
        maxWaiting = inRange("max-waiting", maxWaiting, 64, 0, MAX_WAITING);
        stepTokens = inRange("step-tokens", stepTokens, 256, 1, MAX_STEP_TOKENS);
        admissionMillis = inRange("admission-millis", admissionMillis, 10_000, 1, MAX_ADMISSION_MILLIS);
        stepMillis = inRange("step-millis", stepMillis, 100, 1, MAX_STEP_MILLIS);
        if (stepTokens < maxSequences) {
            throw new IllegalArgumentException("step-tokens: " + stepTokens + " (expected: at least max-sequences="
                    + maxSequences + ", as every decoding sequence has a row in each step)");
        }
    }

    private static Integer inRange(String key, @Nullable Integer given, int byDefault, int low, int high) {
        int value = given == null ? byDefault : given;
        if (value < low || value > high) {
            throw new IllegalArgumentException(key + ": " + value + " (expected: " + low + ".." + high + ")");
        }
        return value;
    }

    public static LoopSettings defaults() {
        return new LoopSettings(null, null, null, null, null);
    }

    int sequences() {
        return set(maxSequences);
    }

    int waiting() {
        return set(maxWaiting);
    }

    int rows() {
        return set(stepTokens);
    }

    int waitMillis() {
        return set(admissionMillis);
    }

    int targetMillis() {
        return set(stepMillis);
    }

    private static int set(@Nullable Integer value) {
        if (value == null) {
            throw new IllegalStateException("loop settings without a value (expected: set by the constructor)");
        }
        return value;
    }
}
