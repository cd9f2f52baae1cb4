package io.millrace.kernels.vector;

import io.millrace.kernels.KernelCheck;
import io.millrace.kernels.KernelCheck.Verdict;
import java.util.ArrayList;
import java.util.List;
import java.util.function.LongSupplier;
import jdk.incubator.vector.FloatVector;

/// Runs kernels one at a time until they are at speed, or long enough to know that they will not be.
///
/// A slice of runs is short, and the best slice counts, so a busy neighbour does not make a kernel look
/// slow. A kernel at speed ends its check after a few slices; only one that stays below its floor takes
/// the whole of its warm-up, and then of a second one.
///
/// Floors are shares of what the lanes can do: a loop of fused multiply-adds in registers, the reference,
/// timed in the same run. Processors differ in vectors and clock, much less in the shares. The reference is
/// made of vectors, too, so it has a floor itself: a multiple of a chain of scalar operations, for which no
/// compiler needs luck; it also stands in for the reference where that is slow.
final class SelfCheck {
    /// Name of the reference among the outcomes.
    static final String REFERENCE = "reference";

    /// Runs after which every tier of the compiler has had its turn.
    private static final int WARM_UP_RUNS = 8000;

    /// Time after which no kernel is warmed up twice.
    private static final long PATIENCE_NANOS = 3_000_000_000L;

    private static final int RUNS_PER_SLICE = 8;
    private static final int SLICES_AT_SPEED = 12;
    private static final int STEADY_SLICES = 400;
    private static final int CHAIN = 2048;
    private static final int CHAIN_SLICES = 200;
    private static final int REFERENCE_STEPS = 64;
    private static final int REFERENCE_CHAINS = 8;

    /// Multiply-adds of a lane while the scalar chain makes a step: what the reference reaches at least, and
    /// what processors have at least. Those seen have 5 to 14.
    private static final double REFERENCE_FLOOR = 2;

    private static final double REFERENCE_EXPECTED = 4;

    private final LongSupplier nanoClock;

    SelfCheck(LongSupplier nanoClock) {
        this.nanoClock = nanoClock;
    }

    /// One kernel's work.
    ///
    /// @param kernel  its name
    /// @param share   floor, as a share of the rate of the reference
    /// @param items   multiply-adds or elements of a run
    /// @param work    runs it once
    record Probe(String kernel, double share, long items, Runnable work) {}

    /// Checks the reference, then each kernel.
    ///
    /// @param scratch  address of a vector that may be overwritten
    List<KernelCheck> run(List<Probe> probes, long scratch) {
        double chain = chainRate() * Lanes.COUNT;
        long start = nanoClock.getAsLong();
        long items = (long) REFERENCE_STEPS * REFERENCE_CHAINS * Lanes.COUNT;
        Probe reference = new Probe(REFERENCE, 0, items, () -> multiplyAdd(REFERENCE_STEPS, scratch));
        List<KernelCheck> checks = new ArrayList<>();
        KernelCheck first = check(reference, REFERENCE_FLOOR * chain, start);
        double best = steadyRate(reference, first.measured());
        checks.add(new KernelCheck(REFERENCE, best, first.floor(), first.verdict()));
        double rate = Math.max(best, REFERENCE_EXPECTED * chain);
        for (Probe probe : probes) {
            checks.add(check(probe, probe.share * rate, start));
        }
        return List.copyOf(checks);
    }

    private KernelCheck check(Probe probe, double floor, long start) {
        double measured = rate(probe, floor, 0);
        Verdict verdict = Verdict.AT_SPEED;
        if (measured < floor && nanoClock.getAsLong() - start < PATIENCE_NANOS) {
            measured = rate(probe, floor, measured);
            verdict = Verdict.REWARMED;
        }
        return new KernelCheck(probe.kernel, measured, floor, measured < floor ? Verdict.BELOW_FLOOR : verdict);
    }

    /// Billions of items per second of the best slice.
    private double rate(Probe probe, double floor, double before) {
        double best = before;
        int atSpeed = 0;
        long from = nanoClock.getAsLong();
        for (int runs = 0; atSpeed < SLICES_AT_SPEED && runs < WARM_UP_RUNS; runs += RUNS_PER_SLICE) {
            runSlice(probe);
            long end = nanoClock.getAsLong();
            best = Math.max(best, rate(probe, end - from));
            if (best >= floor) {
                atSpeed++;
            }
            from = end;
        }
        return best;
    }

    private static void runSlice(Probe probe) {
        for (int i = 0; i < RUNS_PER_SLICE; i++) {
            probe.work.run();
        }
    }

    private static double rate(Probe probe, long nanosOfSlice) {
        return (double) RUNS_PER_SLICE * probe.items / Math.max(1, nanosOfSlice);
    }

    /// Rate of the best slice, when many in a row were no better: all floors hang on it.
    private double steadyRate(Probe probe, double before) {
        double best = before;
        long from = nanoClock.getAsLong();
        for (int worse = 0, slices = 0; worse < STEADY_SLICES && slices < WARM_UP_RUNS; worse++, slices++) {
            runSlice(probe);
            long end = nanoClock.getAsLong();
            double rate = rate(probe, end - from);
            from = end;
            if (rate > best) {
                best = rate;
                worse = 0;
            }
        }
        return best;
    }

    /// Chains enough to hide the latency of a fused multiply-add; they stay near 2.
    private static void multiplyAdd(int steps, long to) {
        FloatVector half = FloatVector.broadcast(Lanes.FLOATS, 0.5f);
        FloatVector one = FloatVector.broadcast(Lanes.FLOATS, 1f);
        FloatVector y0 = half;
        FloatVector y1 = half;
        FloatVector y2 = half;
        FloatVector y3 = half;
        FloatVector y4 = half;
        FloatVector y5 = half;
        FloatVector y6 = half;
        FloatVector y7 = half;
        for (int i = 0; i < steps; i++) {
            y0 = y0.fma(half, one);
            y1 = y1.fma(half, one);
            y2 = y2.fma(half, one);
            y3 = y3.fma(half, one);
            y4 = y4.fma(half, one);
            y5 = y5.fma(half, one);
            y6 = y6.fma(half, one);
            y7 = y7.fma(half, one);
        }
        FloatVector sum = y0.add(y1).add(y2.add(y3)).add(y4.add(y5).add(y6.add(y7)));
        sum.intoMemorySegment(Lanes.ALL, Lanes.base(to), Lanes.ORDER);
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
