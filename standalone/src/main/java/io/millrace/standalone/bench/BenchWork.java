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

    /// Steps of some rows.
    public static BenchWork verify(int depth, int steps, int rows) {
        return new BenchWork(BenchPhase.VERIFY, depth, Math.multiplyExact(steps, rows), rows);
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
            case DECODE, VERIFY -> rows;
        };
    }

    /// E.g. `prefill 512 at 4096`; `verify 128 by 4 at 0`.
    String label() {
        String steps = phase == BenchPhase.VERIFY ? " by " + rowsPerStep : "";
        return phase.id() + " " + tokens + steps + " at " + depth;
    }
}
