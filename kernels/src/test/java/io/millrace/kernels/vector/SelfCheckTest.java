package io.millrace.kernels.vector;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.kernels.KernelCheck;
import io.millrace.kernels.KernelCheck.Verdict;
import io.millrace.kernels.QuantFormat;
import java.util.EnumSet;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class SelfCheckTest {
    /// Nanoseconds that pass between two readings of the clock: the plain loop makes 2048 steps in them.
    private static final long TICK_NANOS = 2048;

    private final AtomicLong nanos = new AtomicLong();
    private final SelfCheck check = new SelfCheck(() -> nanos.addAndGet(TICK_NANOS));

    /// A kernel of a thousand multiply-adds whose floor is one a nanosecond.
    private KernelCheck check(Runnable work) {
        return check.run(List.of(new SelfCheck.Probe("fake", 1.0 / Lanes.COUNT, 1000, work)))
                .getFirst();
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
    void allHotKernelsAreMeasuredOnThisMachine() {
        try (VectorKernels kernels = new VectorKernels(1)) {
            List<KernelCheck> checks = kernels.check(EnumSet.allOf(QuantFormat.class));
            assertThat(checks)
                    .extracting(KernelCheck::kernel)
                    .containsExactly(
                            "bf16-one-row",
                            "bf16-rows",
                            "f32-one-row",
                            "f32-rows",
                            "strided-rows",
                            "exponential",
                            "int8-one-row",
                            "int8-rows",
                            "int4-one-row",
                            "int4-rows");
            assertThat(checks).allSatisfy(c -> assertThat(c.measured()).isPositive());
            assertThat(kernels.check(EnumSet.of(QuantFormat.F32)))
                    .extracting(KernelCheck::kernel)
                    .containsExactly("f32-one-row", "f32-rows", "strided-rows", "exponential");
        }
    }

    /// The same kernel, but made to do its work many times over, as boxing makes it.
    @Test
    void aRealKernelMadeSlowFallsBelowTheFloorOfTheSameKernelAtSpeed() {
        SelfCheck real = new SelfCheck(System::nanoTime);
        try (KernelProbes probes = new KernelProbes()) {
            SelfCheck.Probe atSpeed = probes.of(EnumSet.of(QuantFormat.F32)).get(1);
            SelfCheck.Probe crippled = new SelfCheck.Probe("crippled", atSpeed.factor(), atSpeed.multiplyAdds(), () -> {
                for (int i = 0; i < 100; i++) {
                    atSpeed.work().run();
                }
            });
            List<KernelCheck> checks = real.run(List.of(atSpeed, crippled));
            assertThat(checks.get(1).verdict()).isEqualTo(Verdict.BELOW_FLOOR);
            assertThat(checks.get(1).measured()).isLessThan(checks.get(0).measured() / 5);
        }
    }
}
