package io.millrace.standalone.bench;

import io.millrace.kernels.nativecode.MachineLimits;
import io.millrace.kernels.nativecode.NativeKernels;
import java.util.Optional;
import java.util.OptionalLong;

/// Measures the machine beside the models, as its bandwidth may change from one minute to the next, and the
/// peak of a model's memory without that of measuring the machine.
final class MachineWatch {
    private static final long FRESH_NANOS = 2_000_000_000L;

    private final BenchSettings settings;
    private Optional<MachineLimits> last = Optional.empty();
    private Optional<MachineLimits> best = Optional.empty();
    private long lastNanos;
    private long peakBytes;

    MachineWatch(BenchSettings settings) {
        this.settings = settings;
    }

    /// Measures; empty where there is no C code to measure with.
    Optional<MachineLimits> measure() {
        if (NativeKernels.declines().isPresent()) {
            return Optional.empty();
        }
        peakBytes = Math.max(peakBytes, ResidentMemory.peakBytes().orElse(0));
        MachineLimits now = MachineLimits.measure(
                settings.kernels().threads(), settings.kernels().isaLevel());
        last = Optional.of(now);
        best = Optional.of(best.map(now::best).orElse(now));
        lastNanos = System.nanoTime();
        ResidentMemory.resetPeak();
        return last;
    }

    /// The last measurement if it ended just now, else another one.
    Optional<MachineLimits> current() {
        return last.isPresent() && System.nanoTime() - lastNanos < FRESH_NANOS ? last : measure();
    }

    /// The best of all measurements.
    Optional<MachineLimits> best() {
        return best;
    }

    /// Starts to look for the peak of the next model's memory.
    void startModel() {
        // What was there before, of another model or of making this one, is not the model's.
        System.gc();
        ResidentMemory.trim();
        ResidentMemory.resetPeak();
        peakBytes = 0;
    }

    /// The peak since then; empty where the system does not tell.
    OptionalLong peakBytes() {
        OptionalLong current = ResidentMemory.peakBytes();
        return current.isEmpty() ? current : OptionalLong.of(Math.max(peakBytes, current.getAsLong()));
    }
}
