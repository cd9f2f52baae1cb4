package io.millrace.engine.model;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.engine.profile.WeightProfile;
import io.millrace.kernels.KvFormat;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/// What a row yields depends on its sequence's tokens alone: not on batch, chunk, pages, threads or where
/// the keys
/// before it were computed. Compared to the bit.
@ParameterizedClass
@MethodSource("cases")
class SameBytesTest {
    private static final int LENGTH = 150;
    private static final int PAGES = 40;

    private final String name;
    private final TestModels.Options options;
    private LoadedModel model;
    private ModelRig rig;
    private int[] tokens;

    SameBytesTest(String name, TestModels.Options options) {
        this.name = name;
        this.options = options;
    }

    static Stream<Arguments> cases() {
        TestModels.Options scalar = TestModels.Options.of("scalar");
        TestModels.Options vector = TestModels.Options.of("vector");
        TestModels.Options inC = TestModels.Options.of("native");
        return Stream.of(
                Arguments.of("glm52-indexshare-tiny", inC),
                Arguments.of("deepseek-v32-tiny", inC.with(KvFormat.INT8)),
                Arguments.of(TestModels.MINI, inC.with(KvFormat.INT8)),
                Arguments.of(TestModels.MINI, inC.with(KvFormat.BF16)),
                Arguments.of("glm52-indexshare-tiny", scalar.with(KvFormat.BF16)),
                Arguments.of("glm52-indexshare-tiny", vector),
                Arguments.of("deepseek-v32-tiny", vector.with(KvFormat.BF16)),
                Arguments.of(TestModels.MINI, vector.with(KvFormat.BF16)),
                Arguments.of(TestModels.MINI, vector.with(WeightProfile.W4A8).with(KvFormat.INT8)));
    }

    @BeforeEach
    void load() {
        model = TestModels.load(name, options);
        rig = new ModelRig(model, PAGES);
        tokens = rig.tokens(17, LENGTH);
    }

    @AfterEach
    void close() {
        rig.close();
        model.close();
    }

    private ModelRig.Sequence whole() {
        return rig.finish(rig.open(tokens), ModelRig.MAX_ROWS);
    }

    private static void assertSame(ModelRig.Sequence actual, ModelRig.Sequence expected) {
        assertThat(actual.logits).hasSameSizeAs(expected.logits);
        for (int row = 0; row < expected.logits.size(); row++) {
            if (!Arrays.equals(actual.logits.get(row), expected.logits.get(row))) {
                assertThat(actual.logits.get(row)).as("logits of row " + row).isEqualTo(expected.logits.get(row));
            }
        }
        assertThat(actual.state).isEqualTo(expected.state);
        assertThat(actual.allSections()).isDeepEqualTo(expected.allSections());
    }

    @Test
    void chunksEqualTheWholePrompt() {
        ModelRig.Sequence expected = whole();
        for (int chunk : new int[] {7, 64}) {
            assertSame(rig.finish(rig.open(tokens), chunk), expected);
        }
    }

    @Test
    void prefillAndDecodeEqualTheWholePrompt() {
        ModelRig.Sequence sequence = rig.open(tokens);
        rig.step(List.of(sequence), LENGTH - 40);
        assertSame(rig.finish(sequence, 1), whole());
    }

    @Test
    void aBatchEqualsSingles() {
        int[] lengths = {LENGTH, 1, 64, 65, 30, 129, 2, 100};
        List<ModelRig.Sequence> singles = new ArrayList<>();
        for (int i = 0; i < lengths.length; i++) {
            singles.add(rig.finish(rig.open(rig.tokens(100 + i, lengths[i])), ModelRig.MAX_ROWS));
        }
        for (int batch : new int[] {3, 8}) {
            List<ModelRig.Sequence> together = new ArrayList<>();
            for (int i = 0; i < batch; i++) {
                together.add(rig.openShuffled(singles.get(i).tokens, i));
            }
            finishTogether(together, new Random(batch));
            for (int i = 0; i < batch; i++) {
                assertSame(together.get(i), singles.get(i));
                together.get(i).free();
            }
        }
    }

    // Every step advances some sequences by one token and others by chunks, in a changing order.
    private void finishTogether(List<ModelRig.Sequence> sequences, Random random) {
        List<ModelRig.Sequence> open = new ArrayList<>(sequences);
        while (!open.isEmpty()) {
            java.util.Collections.shuffle(open, random);
            int[] counts = new int[open.size()];
            for (int i = 0; i < counts.length; i++) {
                int left = open.get(i).tokens.length - open.get(i).computed;
                counts[i] = Math.min(left, random.nextBoolean() ? 1 : 1 + random.nextInt(30));
            }
            rig.step(open, counts);
            open.removeIf(sequence -> sequence.computed == sequence.tokens.length);
        }
    }

    @Test
    void shuffledPagesEqualContiguousOnes() {
        ModelRig.Sequence expected = whole();
        assertSame(rig.finish(rig.openShuffled(tokens, 5), ModelRig.MAX_ROWS), expected);
    }

    @Test
    void oneThreadEqualsTwo() {
        ModelRig.Sequence expected = whole();
        try (LoadedModel other = TestModels.load(name, options.withThreads(1));
                ModelRig otherRig = new ModelRig(other, PAGES)) {
            assertThat(other.numericsId()).isEqualTo(model.numericsId());
            assertSame(otherRig.finish(otherRig.open(tokens), 33), expected);
        }
    }

    @Test
    void aBlockDependsOnItsTokensAndThoseBeforeAlone() {
        int[] other = tokens.clone();
        for (int i = 64; i < other.length; i++) {
            other[i] = 4 + (other[i] + 1) % 100;
        }
        ModelRig.Sequence first = whole();
        ModelRig.Sequence second = rig.finish(rig.open(other), 50);
        assertThat(second.sections(0)).isDeepEqualTo(first.sections(0));
        assertThat(second.sections(1)).isNotEqualTo(first.sections(1));
    }

    @Test
    void importedBlocksEqualComputedOnes() {
        ModelRig.Sequence expected = whole();
        try (ModelRig otherRig = new ModelRig(model, PAGES)) {
            ModelRig.Sequence importing = otherRig.openShuffled(tokens, 9);
            importing.importSections(0, expected.sections(0));
            importing.importSections(1, expected.sections(1));
            importing.startBehind(2);
            otherRig.finish(importing, 9);
            assertThat(importing.logits).hasSize(LENGTH - 128);
            for (int row = 128; row < LENGTH; row++) {
                assertThat(importing.logits.get(row - 128)).isEqualTo(expected.logits.get(row));
            }
            assertThat(importing.allSections()).isDeepEqualTo(expected.allSections());
        }
    }

    @Test
    void denseEqualsSparseThatSelectsEverything() {
        try (LoadedModel dense = TestModels.load(name, options.withTopK(0));
                LoadedModel wide = TestModels.load(name, options.withTopK(LENGTH));
                ModelRig denseRig = new ModelRig(dense, PAGES);
                ModelRig wideRig = new ModelRig(wide, PAGES)) {
            assertThat(dense.numericsId()).isNotEqualTo(wide.numericsId());
            ModelRig.Sequence expected = denseRig.finish(denseRig.open(tokens), 40);
            assertSame(wideRig.finish(wideRig.open(tokens), 40), expected);
            // and the model's own topK is below the length: it must not be dense attention
            assertThat(whole().logits.getLast()).isNotEqualTo(expected.logits.getLast());
        }
    }

    @Test
    void draftsAfterAHitEqualDraftsAfterAMiss() {
        if (model.config().mtpLayers() == 0) {
            assertThat(name).isNotEqualTo(TestModels.MINI);
            return;
        }
        ModelRig.Sequence miss = rig.open(tokens);
        rig.step(List.of(miss), 128);
        rig.step(List.of(miss), LENGTH - 128);
        List<float[]> expected = rig.predict(LENGTH - 128);
        try (ModelRig otherRig = new ModelRig(model, PAGES)) {
            ModelRig.Sequence hit = otherRig.openShuffled(tokens, 4);
            hit.importSections(0, miss.sections(0));
            hit.importSections(1, miss.sections(1));
            hit.startBehind(2);
            otherRig.step(List.of(hit), LENGTH - 128);
            assertThat(otherRig.predict(LENGTH - 128)).containsExactlyElementsOf(expected);
            // in single steps too, and the draft sees the keys of the imported block
            hit.startBehind(2);
            otherRig.step(List.of(hit), 1);
            assertThat(otherRig.predict(1).getFirst()).isEqualTo(expected.getFirst());
            hit.importSections(0, miss.sections(1));
            hit.startBehind(2);
            otherRig.step(List.of(hit), 1);
            assertThat(otherRig.predict(1).getFirst()).isNotEqualTo(expected.getFirst());
        }
    }
}
