package io.millrace.kernels.vector;

import io.millrace.kernels.KernelCheck;
import io.millrace.kernels.KernelCheck.Verdict;
import java.util.ArrayList;
import java.util.List;
import java.util.function.LongSupplier;

/// Runs kernels one at a time until they are at speed, or long enough to know that they will not be.
///
/// A slice of runs is short, and the best slice counts, so a busy neighbour does not make a kernel look
/// slow. A kernel at speed ends its check after a few slices; only one that stays below its floor takes
/// the whole of its warm-up, and then of a second one.
final class SelfCheck {
    /// Runs after which every tier of the compiler has had its turn.
    private static final int WARM_UP_RUNS = 8000;

    /// Time after which no kernel is warmed up twice.
    private static final long PATIENCE_NANOS = 3_000_000_000L;

    private static final int RUNS_PER_SLICE = 8;
    private static final int SLICES_AT_SPEED = 12;
    private static final int CHAIN = 2048;
    private static final int CHAIN_SLICES = 200;

    private final LongSupplier nanoClock;

    SelfCheck(LongSupplier nanoClock) {
        this.nanoClock = nanoClock;
    }

    /// One kernel's work.
    ///
    /// @param kernel        its name
    /// @param factor        floor in multiply-adds per lane and step of the plain loop
    /// @param multiplyAdds  work of a run
    /// @param work          runs it once
    record Probe(String kernel, double factor, long multiplyAdds, Runnable work) {}

    /// Checks each kernel.
    List<KernelCheck> run(List<Probe> probes) {
        double chainRate = chainRate();
        long start = nanoClock.getAsLong();
        List<KernelCheck> checks = new ArrayList<>();
        for (Probe probe : probes) {
            double floor = probe.factor * Lanes.COUNT * chainRate;
            double measured = rate(probe, floor, 0);
            Verdict verdict = Verdict.AT_SPEED;
            if (measured < floor && nanoClock.getAsLong() - start < PATIENCE_NANOS) {
                measured = rate(probe, floor, measured);
                verdict = Verdict.REWARMED;
            }
            checks.add(
                    new KernelCheck(probe.kernel, measured, floor, measured < floor ? Verdict.BELOW_FLOOR : verdict));
        }
        return List.copyOf(checks);
    }

    /// Billions of multiply-adds per second of the best slice.
    private double rate(Probe probe, double floor, double before) {
        double best = before;
        int atSpeed = 0;
        long from = nanoClock.getAsLong();
        for (int runs = 0; atSpeed < SLICES_AT_SPEED && runs < WARM_UP_RUNS; runs += RUNS_PER_SLICE) {
            for (int i = 0; i < RUNS_PER_SLICE; i++) {
                probe.work.run();
            }
            long end = nanoClock.getAsLong();
            best = Math.max(best, (double) RUNS_PER_SLICE * probe.multiplyAdds / Math.max(1, end - from));
            if (best >= floor) {
                atSpeed++;
            }
            from = end;
        }
        return best;
    }

    /// Billions of steps per second of a chain of dependent multiplications and additions: what the clock of
    /// the processor and the compiler give without vectors.
    private double chainRate() {
        double best = 0;
        float value = 1;
        for (int slice = 0; slice < CHAIN_SLICES; slice++) {
            long start = nanoClock.getAsLong();
            value = chain(value);
            best = Math.max(best, (double) CHAIN / Math.max(1, nanoClock.getAsLong() - start));
        }
        if (!(value > 0)) {
            throw new IllegalStateException("chain of multiplications: " + value + " (expected: about 2)");
        }
        return best;
    }

    private static float chain(float from) {
        float value = from;
        for (int i = 0; i < CHAIN; i++) {
            value = value * 0.5f + 1f;
        }
        return value;
    }
}
