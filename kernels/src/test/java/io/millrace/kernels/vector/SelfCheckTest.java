package io.millrace.kernels.vector;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.kernels.KernelCheck;
import io.millrace.kernels.KernelCheck.Verdict;
import io.millrace.kernels.QuantFormat;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class SelfCheckTest {
    private static final List<String> BFLOAT16 = List.of("bf16-one-row", "bf16-rows");
    private static final List<String> FLOAT32 =
            List.of("f32-one-row", "f32-rows", "f32-eight-rows", "strided-one-row", "strided-rows");
    private static final List<String> INTEGERS = List.of(
            "int8-one-row",
            "int8-rows",
            "int8-fold",
            "int4-one-row",
            "int4-rows",
            "int4-fold",
            "rounding-largest",
            "rounding-codes",
            "rotation");
    private static final List<String> FOR_ALL = List.of(
            "sigmoid",
            "swiglu",
            "rms-norm",
            "accumulate",
            "rescale",
            "rope",
            "softmax",
            "indexer",
            "bf16-read",
            "bf16-write",
            "int8-read",
            "logit-blocks",
            "logit-scales",
            "logit-exponentials",
            "logit-sums",
            "noise-words",
            "noise-bounds");

    /// Nanoseconds that pass between two readings of the clock: the plain loop makes 2048 steps in them.
    private static final long TICK_NANOS = 2048;

    private final AtomicLong nanos = new AtomicLong();
    private final SelfCheck check = new SelfCheck(() -> nanos.addAndGet(TICK_NANOS));

    /// A kernel of a thousand multiply-adds whose floor is one a nanosecond: by this clock the reference makes two in
    /// each lane, and counts as the four that are expected of it.
    private KernelCheck check(Runnable work) {
        List<KernelCheck> checks = run(new SelfCheck.Probe("fake", 1.0 / (4 * Lanes.COUNT), 1000, work));
        assertThat(checks.getFirst().kernel()).isEqualTo(SelfCheck.REFERENCE);
        assertThat(checks.getFirst().measured()).isEqualTo(2.0 * Lanes.COUNT);
        return checks.getLast();
    }

    private List<KernelCheck> run(SelfCheck.Probe probe) {
        try (KernelProbes probes = new KernelProbes()) {
            return check.run(List.of(probe), probes.scratch());
        }
    }

    @Test
    void aKernelAboveItsFloorPassesAfterAFewRuns() {
        AtomicLong runs = new AtomicLong();
        KernelCheck outcome = check(runs::incrementAndGet);
        assertThat(outcome.verdict()).isEqualTo(Verdict.AT_SPEED);
        assertThat(outcome.floor()).isEqualTo(1.0);
        assertThat(outcome.measured()).isEqualTo(8000.0 / TICK_NANOS);
        assertThat(outcome.margin()).isGreaterThan(3);
        assertThat(runs).hasValueLessThan(200);
    }

    @Test
    void aCrippledKernelIsReportedBelowItsFloor() {
        KernelCheck outcome = check(() -> nanos.addAndGet(5000));
        assertThat(outcome.verdict()).isEqualTo(Verdict.BELOW_FLOOR);
        assertThat(outcome.margin()).isLessThan(0.25);
        assertThat(outcome).hasToString("fake 0.19 of 1.00 (BELOW ITS FLOOR)");
    }

    @Test
    void aKernelThatNeedsASecondWarmUpIsSaidToHaveNeededIt() {
        AtomicLong runs = new AtomicLong();
        KernelCheck outcome = check(() -> nanos.addAndGet(runs.incrementAndGet() <= 9000 ? 5000 : 0));
        assertThat(outcome.verdict()).isEqualTo(Verdict.REWARMED);
        assertThat(outcome.margin()).isGreaterThan(1);
    }

    @Test
    void everyHotLoopIsMeasuredOnThisMachine() {
        try (VectorKernels kernels = new VectorKernels(1)) {
            List<KernelCheck> checks = kernels.check(EnumSet.allOf(QuantFormat.class));
            List<String> expected = new ArrayList<>(List.of(SelfCheck.REFERENCE));
            expected.addAll(BFLOAT16);
            expected.addAll(FLOAT32);
            expected.addAll(INTEGERS);
            expected.addAll(FOR_ALL);
            assertThat(checks).extracting(KernelCheck::kernel).containsExactlyElementsOf(expected);
            assertThat(checks).allSatisfy(c -> assertThat(c.measured()).isPositive());
            expected.removeAll(BFLOAT16);
            expected.removeAll(INTEGERS);
            assertThat(kernels.check(EnumSet.of(QuantFormat.F32)))
                    .extracting(KernelCheck::kernel)
                    .containsExactlyElementsOf(expected);
        }
    }

    /// Each kernel as it is, and made to do its work eight times over: the smallest cliff that was ever seen.
    @Test
    void everyKernelEightTimesTooSlowFallsBelowItsFloor() {
        SelfCheck real = new SelfCheck(System::nanoTime);
        try (KernelProbes probes = new KernelProbes()) {
            List<SelfCheck.Probe> atSpeed = probes.of(EnumSet.allOf(QuantFormat.class));
            List<SelfCheck.Probe> both = new ArrayList<>();
            for (SelfCheck.Probe probe : atSpeed) {
                both.add(probe);
                both.add(new SelfCheck.Probe("slow " + probe.kernel(), probe.share(), probe.items(), () -> {
                    for (int i = 0; i < 8; i++) {
                        probe.work().run();
                    }
                }));
            }
            List<KernelCheck> checks = real.run(both, probes.scratch());
            List<String> slow = checks.stream()
                    .filter(c -> c.verdict() == Verdict.BELOW_FLOOR)
                    .map(KernelCheck::kernel)
                    .toList();
            assertThat(slow)
                    .containsAll(atSpeed.stream().map(p -> "slow " + p.kernel()).toList());
            // After other tests in this process a kernel may really be slow, but not many.
            assertThat(slow).hasSizeLessThanOrEqualTo(atSpeed.size() + 3);
        }
    }

    /// The same kernel, but made to do its work many times over, as boxing makes it.
    @Test
    void aRealKernelMadeSlowFallsBelowTheFloorOfTheSameKernelAtSpeed() {
        SelfCheck real = new SelfCheck(System::nanoTime);
        try (KernelProbes probes = new KernelProbes()) {
            SelfCheck.Probe atSpeed = probes.of(EnumSet.of(QuantFormat.F32)).get(1);
            SelfCheck.Probe crippled = new SelfCheck.Probe("crippled", atSpeed.share(), atSpeed.items(), () -> {
                for (int i = 0; i < 100; i++) {
                    atSpeed.work().run();
                }
            });
            List<KernelCheck> checks = real.run(List.of(atSpeed, crippled), probes.scratch());
            assertThat(checks.get(2).verdict()).isEqualTo(Verdict.BELOW_FLOOR);
            assertThat(checks.get(2).measured()).isLessThan(checks.get(1).measured() / 5);
        }
    }

    /// A compiler that is not done yet, or a neighbour, slows the first slices down; all floors hang on the reference.
    @Test
    void theReferenceIsMeasuredUntilItGetsNoFaster() {
        AtomicLong readings = new AtomicLong();
        SelfCheck slowAtFirst = new SelfCheck(
                () -> nanos.addAndGet(readings.incrementAndGet() <= 2 * 200 + 100 ? TICK_NANOS : TICK_NANOS / 4));
        try (KernelProbes probes = new KernelProbes()) {
            SelfCheck.Probe probe = new SelfCheck.Probe("fake", 1.0 / (4 * Lanes.COUNT), 1000, () -> {});
            List<KernelCheck> checks = slowAtFirst.run(List.of(probe), probes.scratch());
            assertThat(checks.getFirst().measured()).isEqualTo(8.0 * Lanes.COUNT);
            assertThat(checks.getFirst().verdict()).isEqualTo(Verdict.AT_SPEED);
            assertThat(checks.getLast().floor()).isEqualTo(2.0);
        }
    }

    /// A reference made of boxed vectors would drag all floors down with it.
    @Test
    void aSlowReferenceIsReportedAndDoesNotLowerTheFloors() {
        AtomicLong readings = new AtomicLong();
        // The plain loop reads the clock 400 times; from then on everything takes a hundred times as long.
        SelfCheck slow = new SelfCheck(
                () -> nanos.addAndGet(readings.incrementAndGet() <= 2 * 200 ? TICK_NANOS : 100 * TICK_NANOS));
        try (KernelProbes probes = new KernelProbes()) {
            SelfCheck.Probe probe = new SelfCheck.Probe("fake", 1.0 / (4 * Lanes.COUNT), 1000, () -> {});
            List<KernelCheck> checks = slow.run(List.of(probe), probes.scratch());
            assertThat(checks.getFirst().kernel()).isEqualTo(SelfCheck.REFERENCE);
            assertThat(checks.getFirst().verdict()).isEqualTo(Verdict.BELOW_FLOOR);
            assertThat(checks.getLast().floor()).isEqualTo(1.0);
            assertThat(checks.getLast().verdict()).isEqualTo(Verdict.BELOW_FLOOR);
        }
    }
}
