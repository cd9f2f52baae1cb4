package io.millrace.engine.schedule;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class StepBudgetTest {
    private static final long MILLIS = 1_000_000;

    private final Random random = new Random(11);

    @Test
    void rowsAndUnitsAreInverse() {
        for (int first : new int[] {0, 1, 64, 1000, 4096, 130_000}) {
            for (int rows : new int[] {1, 7, 32, 256, 2048}) {
                double units = StepBudget.units(first, rows);
                assertThat(StepBudget.rows(units * 1.000001, first)).isEqualTo(rows);
            }
            assertThat(StepBudget.rows(-5, first)).isZero();
        }
    }

    @Test
    void theBudgetFollowsTheTimeThatStepsTake() {
        StepBudget budget = new StepBudget(100);
        for (int step = 0; step < 20; step++) {
            int rows = Math.clamp(StepBudget.rows(budget.units(), 4096), StepBudget.MIN_ROWS, 4096);
            budget.took(rows, StepBudget.units(4096, rows), rows * MILLIS);
        }
        assertThat(StepBudget.rows(budget.units(), 4096)).isCloseTo(100, within(5));
        for (int step = 0; step < 20; step++) {
            budget.took(100, StepBudget.units(0, 100), 10 * MILLIS);
        }
        assertThat(StepBudget.rows(budget.units(), 0)).isGreaterThan(500);
    }

    @Test
    void aFixedCostOfEachStepIsAllowedFor() {
        StepBudget budget = new StepBudget(100);
        long last = 0;
        for (int step = 0; step < 40; step++) {
            int rows = Math.clamp(StepBudget.rows(budget.units(), 0), StepBudget.MIN_ROWS, 4096);
            last = (40 + rows) * MILLIS;
            budget.took(rows, StepBudget.units(0, rows), last);
        }
        assertThat((double) last).isCloseTo(100e6, within(10e6));
    }

    @Test
    void stepsThatOnlyDecodeSayNothingAboutPrompts() {
        StepBudget budget = new StepBudget(100);
        budget.took(64, 64, 64 * MILLIS);
        double before = budget.units();
        budget.took(3, 3, 90 * MILLIS);
        assertThat(budget.units()).isEqualTo(before);
    }

    /// Rows of the steps of one prompt, when each row takes a millisecond and another one per 400 tokens
    /// before it.
    private List<Integer> steps(int stepMillis, int tokens) {
        var model = new FakeSteps(24);
        model.cost(plan -> {
            double millis = 0;
            for (int i = 0; i < plan.count(); i++) {
                millis += plan.tokens(i) * (1 + (plan.firstToken(i) + plan.tokens(i) / 2.0) / 400);
            }
            return (long) (millis * MILLIS);
        });
        var settings = new LoopSettings(8, 8, 256, 10_000, stepMillis);
        try (EngineLoop loop = new EngineLoop(model, settings, EngineRole.PREFILL, () -> 0)) {
            loop.start();
            Recorder recorder = new Recorder(0);
            loop.reserve(Requests.prefill(Requests.tokens(random, tokens, FakeSteps.VOCAB)))
                    .start(Handover.nothing(), recorder);
            recorder.finish();
            return new ArrayList<>(model.stepRows());
        }
    }

    @Test
    void aLongPromptIsCutIntoStepsOfTheTimeWishedFor() {
        List<Integer> rows = steps(150, 390);
        assertThat(rows.stream().mapToInt(Integer::intValue).sum()).isEqualTo(390);
        assertThat(rows.getFirst()).as("before anything is measured").isBetween(48, 64);
        int first = 0;
        for (int count : rows) {
            double millis = count * (1 + (first + count / 2.0) / 400);
            assertThat(millis <= 190 || count <= StepBudget.MIN_ROWS)
                    .as("%s", rows)
                    .isTrue();
            first += count;
        }
        assertThat(rows).hasSizeBetween(4, 7);
    }

    @Test
    void promptsGetTheirLeastRowsWhateverTheyTake() {
        List<Integer> rows = steps(1, 390);
        assertThat(rows.subList(1, rows.size() - 1)).containsOnly(StepBudget.MIN_ROWS);
    }

    @Test
    void theTimeWishedForChangesNoToken() {
        int[] prompt = Requests.tokens(random, 300, FakeSteps.VOCAB);
        List<List<Integer>> answers = new ArrayList<>();
        for (int stepMillis : new int[] {1, 40, 600_000}) {
            var model = new FakeSteps(24);
            model.cost(plan -> plan.rows() * MILLIS);
            var settings = new LoopSettings(8, 8, 256, 10_000, stepMillis);
            try (EngineLoop loop = new EngineLoop(model, settings, EngineRole.DECODE, () -> 0)) {
                loop.start();
                Recorder recorder = new Recorder(0);
                loop.reserve(Requests.of(prompt, 20)).start(Handover.nothing(), recorder);
                recorder.finish();
                answers.add(recorder.ids());
            }
        }
        assertThat(answers.get(1)).isEqualTo(answers.get(0)).isEqualTo(answers.get(2));
    }

    @Test
    void settingsNameTheKey() {
        assertThat(LoopSettings.defaults().stepMillis()).isEqualTo(100);
        assertThatThrownBy(() -> new LoopSettings(8, 8, 256, 10_000, 0))
                .hasMessage("step-millis: 0 (expected: 1..600000)");
    }
}
