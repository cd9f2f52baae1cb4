package io.millrace.kernels;

/// How a gate picks experts: sigmoid scores, group limiting by the sum of each group's two best biased scores, then the
/// best `topK` biased scores; ties go to the lower index. Weights are the unbiased scores, normalised if
/// `normalised`, times `scale`.
///
/// @param experts     routed experts
/// @param topK        experts per token
/// @param groups      expert groups
/// @param topKGroups  groups kept per token
/// @param normalised  whether weights are divided by their sum (+ 1e-20)
/// @param scale       factor of the weights
public record ExpertGating(int experts, int topK, int groups, int topKGroups, boolean normalised, float scale) {
    public ExpertGating {
        if (topK < 1 || topK > experts) {
            throw new IllegalArgumentException("experts per token: " + topK + " (expected: 1.." + experts + ")");
        }
        if (groups < 1 || experts % groups != 0 || topKGroups < 1 || topKGroups > groups) {
            throw new IllegalArgumentException("expert groups: " + topKGroups + " of " + groups
                    + " (expected: a divisor of " + experts + " experts, and at most that many kept)");
        }
    }
}
