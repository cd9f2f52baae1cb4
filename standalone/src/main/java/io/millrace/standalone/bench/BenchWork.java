package io.millrace.standalone.bench;

/// What one measurement computes.
///
/// @param phase        kind of work
/// @param depth        cached tokens before the first
/// @param tokens       computed in one measurement
/// @param rowsPerStep  most tokens of a step
public record BenchWork(BenchPhase phase, int depth, int tokens, int rowsPerStep) {
    /// A prompt.
    public static BenchWork prefill(int depth, int tokens, int chunk) {
        return new BenchWork(BenchPhase.PREFILL, depth, tokens, chunk);
    }

    /// Tokens one by one.
    public static BenchWork decode(int depth, int tokens) {
        return new BenchWork(BenchPhase.DECODE, depth, tokens, 1);
    }

    /// Rows of the step that begins with a token.
    int rows(int firstToken) {
        return Math.min(rowsPerStep, tokens - firstToken);
    }

    /// How many rows of the step that begins with a token give logits; they are its last ones.
    int logitRows(int firstToken) {
        int rows = rows(firstToken);
        return switch (phase) {
            case PREFILL -> firstToken + rows == tokens ? 1 : 0;
            case DECODE -> rows;
        };
    }

    /// E.g. `prefill 512 at 4096`.
    String label() {
        return phase.id() + " " + tokens + " at " + depth;
    }
}
