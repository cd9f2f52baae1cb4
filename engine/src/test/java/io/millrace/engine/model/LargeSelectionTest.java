package io.millrace.engine.model;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.millrace.engine.error.MillraceException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/// Selections that are larger than anything a row can see.
class LargeSelectionTest {
    private static final int TOKENS = 70;

    @ParameterizedTest
    @MethodSource("io.millrace.engine.model.TestModels#providers")
    void aSelectionBeyondTheContextIsThatOfTheContext(String provider) {
        TestModels.Options options = TestModels.Options.of(provider);
        try (LoadedModel largest = TestModels.load("glm5-tiny", options.withTopK(Integer.MAX_VALUE));
                ModelRig rig = new ModelRig(largest, 2);
                LoadedModel dense = TestModels.load("glm5-tiny", options.withTopK(0));
                ModelRig all = new ModelRig(dense, 2)) {
            int positions = largest.config().maxPositionEmbeddings();
            assertThat(largest.numericsId()).contains(";dsa=topk:" + positions + ";");
            int[] tokens = rig.tokens(1, TOKENS);
            ModelRig.Sequence computed = rig.finish(rig.open(tokens), TOKENS);
            ModelRig.Sequence expected = all.finish(all.open(tokens), TOKENS);
            for (int row = 0; row < TOKENS; row++) {
                assertThat(computed.logits.get(row)).isEqualTo(expected.logits.get(row));
            }
        }
    }

    @Test
    void slotsAreKeptForNoMoreThanThePoolHolds() {
        assertThat(SelectionMemory.slots(Integer.MAX_VALUE, 2)).isEqualTo(128);
        assertThat(SelectionMemory.slots(100, 2)).isEqualTo(100);
        assertThat(SelectionMemory.slots(Integer.MAX_VALUE, Integer.MAX_VALUE)).isEqualTo(Integer.MAX_VALUE);
        assertThat(SelectionMemory.slots(0, 2)).isEqualTo(1);
    }

    @Test
    void whatNoHeapHoldsIsRefusedInASentence() {
        assertThatExceptionOfType(MillraceException.class)
                .isThrownBy(() -> new SelectionMemory("millrace.dsa.top-k", 1 << 27).allocate(512, 1 << 21))
                .withMessageStartingWith("millrace.dsa.top-k: 134217728 selected slots for each of 512 rows of a step"
                        + " take 262144 MiB (expected: no more than ")
                .withMessageEndingWith(
                        "; fewer slots, or a smaller pool of keys:" + " millrace.kv.pool-tokens, in bench --depth)");
        // Of less than an array may hold, but more than any heap of a test has.
        assertThatExceptionOfType(MillraceException.class)
                .isThrownBy(() -> new SelectionMemory("index_topk", (1 << 22) - 1).allocate(511, 1 << 16))
                .withMessageStartingWith("index_topk: 4194303 selected slots for each of 511 rows of a step take");
    }
}
