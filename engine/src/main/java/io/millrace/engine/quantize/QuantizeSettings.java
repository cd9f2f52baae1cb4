package io.millrace.engine.quantize;

import io.millrace.engine.profile.WeightProfile;
import io.millrace.engine.settings.KernelSettings;

/// How a checkpoint is quantised.
///
/// @param profile        [WeightProfile#W8A8] or [WeightProfile#W4A8]; [WeightProfile#CHECKPOINT] rounds
///                       nothing and writes float32
/// @param rotate         whether a rotation is folded in
/// @param search         whether scales are searched for: those of the integers, and those that make the
///                       inner channels of feed-forwards equally large
/// @param seed           of the rotation's signs, 0 or more
/// @param maxShardBytes  tensor bytes of one file, at least 1
/// @param kernels        what computes on the text, and on how many threads tensors are rounded, too
public record QuantizeSettings(
        WeightProfile profile, boolean rotate, boolean search, int seed, long maxShardBytes, KernelSettings kernels) {
    /// Bytes of a file if nobody says otherwise.
    public static final long DEFAULT_SHARD_BYTES = 4L << 30;

    public QuantizeSettings {
        if (profile == WeightProfile.BF16) {
            throw new IllegalArgumentException("profile: bf16 (expected: w8a8 or w4a8)");
        }
        if (seed < 0) {
            throw new IllegalArgumentException("seed: " + seed + " (expected: 0 or more)");
        }
        if (maxShardBytes < 1) {
            throw new IllegalArgumentException("maxShardBytes: " + maxShardBytes + " (expected: at least 1)");
        }
    }

    /// Rotation and search, as `millrace quantize` has them.
    public static QuantizeSettings of(WeightProfile profile) {
        return new QuantizeSettings(profile, true, true, 1, DEFAULT_SHARD_BYTES, KernelSettings.defaults());
    }

    public QuantizeSettings withoutRotation() {
        return new QuantizeSettings(profile, false, search, seed, maxShardBytes, kernels);
    }

    public QuantizeSettings withoutSearch() {
        return new QuantizeSettings(profile, rotate, false, seed, maxShardBytes, kernels);
    }

    public QuantizeSettings withShards(long bytes) {
        return new QuantizeSettings(profile, rotate, search, seed, bytes, kernels);
    }

    public QuantizeSettings computedBy(KernelSettings changed) {
        return new QuantizeSettings(profile, rotate, search, seed, maxShardBytes, changed);
    }
}
