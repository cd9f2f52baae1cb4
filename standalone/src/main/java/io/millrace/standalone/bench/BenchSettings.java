package io.millrace.standalone.bench;

import io.millrace.engine.profile.WeightProfile;
import io.millrace.engine.settings.DsaSettings;
import io.millrace.engine.settings.EngineSettings;
import io.millrace.engine.settings.KernelSettings;
import io.millrace.engine.settings.KvSettings;
import io.millrace.engine.settings.WeightsSettings;
import io.millrace.kernels.KvFormat;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/// What is measured.
///
/// @param profiles  number formats of the weights, one model after the other
/// @param dense     for each model, whether attention is dense: false, true or both
/// @param prefill   prompt lengths; may be empty
/// @param decode    tokens decoded one by one; 0 for none
/// @param verify    rows of steps of a few tokens, as the verification of drafts has; may be empty
/// @param depths    cached tokens before them
/// @param kv        number format of cached keys
/// @param chunk     most rows of a prefill step
/// @param repeats   measurements of each kind
/// @param warmUpSeconds  longest time that work is done before it is measured; 0 for once, however long it takes
/// @param kernels   provider, threads (not 0) and instruction set
public record BenchSettings(
        List<WeightProfile> profiles,
        List<Boolean> dense,
        List<Integer> prefill,
        int decode,
        List<Integer> verify,
        List<Integer> depths,
        KvFormat kv,
        int chunk,
        int repeats,
        int warmUpSeconds,
        KernelSettings kernels) {
    /// Most rows of a prefill step.
    public static final int MAX_CHUNK = 8192;
    /// Most measurements of each kind.
    public static final int MAX_REPEATS = 1000;
    /// Longest warm-up of each kind.
    public static final int MAX_WARM_UP_SECONDS = 3600;
    /// Most rows of a step that verifies drafts.
    public static final int MAX_VERIFY = 64;
    /// Longest prompt, most tokens decoded, greatest depth.
    public static final int MAX_TOKENS = 1 << 24;
    private static final int VERIFY_STEPS = 32;

    public BenchSettings {
        profiles = List.copyOf(profiles);
        dense = List.copyOf(dense);
        prefill = List.copyOf(prefill);
        verify = List.copyOf(verify);
        depths = List.copyOf(depths);
        if (profiles.isEmpty()) {
            throw new IllegalArgumentException("--profile: none (expected: at least one)");
        }
        if (dense.isEmpty()) {
            throw new IllegalArgumentException("--dsa: none (expected: auto, dense or both)");
        }
        if (prefill.isEmpty() && decode == 0 && verify.isEmpty()) {
            throw new IllegalArgumentException(
                    "--prefill, --decode and --verify: nothing to measure (expected: at least one of them above 0)");
        }
        require("--prefill", prefill, 1, MAX_TOKENS);
        require("--decode", List.of(decode), 0, MAX_TOKENS);
        require("--verify", verify, 1, MAX_VERIFY);
        require("--depth", depths, 0, MAX_TOKENS);
        if (depths.isEmpty()) {
            throw new IllegalArgumentException("--depth: none (expected: at least one, e.g. 0)");
        }
        if (chunk < 1 || chunk > MAX_CHUNK) {
            throw new IllegalArgumentException("--chunk: " + chunk + " (expected: 1.." + MAX_CHUNK + ")");
        }
        if (repeats < 1 || repeats > MAX_REPEATS) {
            throw new IllegalArgumentException("--repeats: " + repeats + " (expected: 1.." + MAX_REPEATS + ")");
        }
        if (warmUpSeconds < 0 || warmUpSeconds > MAX_WARM_UP_SECONDS) {
            throw new IllegalArgumentException(
                    "--warm-up-seconds: " + warmUpSeconds + " (expected: 0.." + MAX_WARM_UP_SECONDS + ")");
        }
        if (kernels.threads() == 0) {
            throw new IllegalArgumentException("--threads: 0 (expected: at least 1)");
        }
    }

    private static void require(String option, List<Integer> values, int least, int most) {
        for (int value : values) {
            if (value < least || value > most) {
                throw new IllegalArgumentException(option + ": " + value + " (expected: " + least + ".." + most + ")");
            }
        }
    }

    /// What is measured, in this order.
    List<BenchWork> works() {
        List<BenchWork> works = new ArrayList<>();
        for (int depth : depths) {
            for (int tokens : prefill) {
                works.add(BenchWork.prefill(depth, tokens, chunk));
            }
            if (decode > 0) {
                works.add(BenchWork.decode(depth, decode));
            }
            for (int rows : verify) {
                works.add(BenchWork.verify(depth, decode > 0 ? decode : VERIFY_STEPS, rows));
            }
        }
        return works;
    }

    /// Slots of the longest sequence.
    public int slots() {
        int most = 0;
        for (BenchWork work : works()) {
            most = Math.max(most, Math.addExact(work.depth(), work.tokens()));
        }
        return most;
    }

    /// Most rows of a step.
    int maxRows() {
        return verify.isEmpty() ? chunk : Math.max(chunk, Collections.max(verify));
    }

    int deepest() {
        return Collections.max(depths);
    }

    EngineSettings engine(WeightProfile profile, boolean isDense) {
        return new EngineSettings(
                kernels,
                isDense ? new DsaSettings(0) : DsaSettings.defaults(),
                new KvSettings(kv, null),
                new WeightsSettings(0, profile, null));
    }
}
