package io.millrace.engine.golden;

import java.util.OptionalDouble;

/// How far a model is from its reference values.
///
/// @param rows                 rows of the prompt
/// @param maxLogitError        largest |Δlogit| over all rows
/// @param maxHiddenError       largest |Δ| of a residual stream after a layer; 0 if the file has none
/// @param comparedSelections   rows of layers whose selected positions were compared
/// @param differingSelections  how many of them differ
/// @param greedyIds            greedy ids of the file
/// @param equalGreedyIds       how many of them were computed before the first that differs
/// @param maxLogprobError      largest error of the log-probabilities of the equal greedy ids
/// @param maxMtpLogitError     largest |Δlogit| of the multi-token-prediction layer; empty if the file
///                             has none
/// @param roundedFrequencies   the values agree only if the rotary frequencies are rounded to bfloat16
///                             first: what a reference does whose module was cast to bfloat16 and back.
///                             See [GoldenCheck]
public record GoldenResult(
        int rows,
        double maxLogitError,
        double maxHiddenError,
        int comparedSelections,
        int differingSelections,
        int greedyIds,
        int equalGreedyIds,
        double maxLogprobError,
        OptionalDouble maxMtpLogitError,
        boolean roundedFrequencies) {
    /// Tolerance of logits in float32 arithmetic.
    public static final double LOGIT_TOLERANCE = 2e-4;

    /// Tolerance of log-probabilities.
    public static final double LOGPROB_TOLERANCE = 1e-4;

    /// Whether every greedy id is equal.
    public boolean greedyEqual() {
        return equalGreedyIds == greedyIds;
    }

    /// Whether everything is within tolerance: logits 2e-4, selections and greedy ids equal,
    /// log-probabilities 1e-4.
    public boolean withinTolerance() {
        return maxLogitError <= LOGIT_TOLERANCE
                && maxMtpLogitError.orElse(0) <= LOGIT_TOLERANCE
                && differingSelections == 0
                && greedyEqual()
                && maxLogprobError <= LOGPROB_TOLERANCE;
    }
}
