package io.millrace.engine.model;

import io.millrace.kernels.GatedMlpWeights;
import io.millrace.kernels.KernelCheck;
import io.millrace.kernels.KernelCheck.Verdict;
import io.millrace.kernels.Kernels;
import io.millrace.kernels.QuantFormat;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/// The self-check of the kernels that a model's weights need, and its log lines.
final class KernelChecks {
    private static final Logger LOG = LoggerFactory.getLogger(KernelChecks.class);

    private KernelChecks() {}

    static List<KernelCheck> run(Kernels kernels, ModelWeights weights) {
        List<KernelCheck> checks = kernels.check(formats(weights));
        if (!checks.isEmpty()) {
            LOG.info("kernel self-check, billions of multiply-adds or elements a second and their floors: {}", checks);
        }
        for (KernelCheck check : checks) {
            if (check.verdict() == Verdict.BELOW_FLOOR) {
                LOG.error(
                        "KERNEL {} IS SLOW in this process: the compiler left it unoptimised. Results are right; "
                                + "restart the process, and see that it runs with -Xbatch",
                        check);
            }
        }
        return checks;
    }

    private static Set<QuantFormat> formats(ModelWeights weights) {
        Set<QuantFormat> formats = EnumSet.of(weights.head().format());
        for (LayerWeights layer : weights.layers()) {
            formats.add(layer.attention().qA().format());
            switch (layer.feedForward()) {
                case FeedForward.Dense dense -> add(formats, dense.weights());
                case FeedForward.Experts experts -> {
                    add(formats, experts.weights().shared());
                    add(formats, experts.weights().experts().getFirst());
                }
            }
        }
        return formats;
    }

    private static void add(Set<QuantFormat> formats, GatedMlpWeights weights) {
        formats.add(weights.gate().format());
        formats.add(weights.down().format());
    }
}
