package io.millrace.engine.model;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.engine.kv.KvLayout;
import io.millrace.engine.profile.WeightProfile;
import io.millrace.kernels.KvFormat;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/// The rules of [SameBytesTest] where weights and cached keys are integers: a row does not depend on
/// chunks, batch or where the keys before it came from.
class IntegerBytesTest {
    private static final int LENGTH = 72;

    private LoadedModel model;
    private ModelRig rig;

    @BeforeEach
    void load() {
        model = TestModels.load(
                "glm5-tiny",
                TestModels.Options.of("scalar").with(WeightProfile.W4A8).with(KvFormat.INT8));
        rig = new ModelRig(model, 16);
    }

    @AfterEach
    void close() {
        rig.close();
        model.close();
    }

    private ModelRig.Sequence whole(int seed, int length) {
        return rig.finish(rig.open(rig.tokens(seed, length)), ModelRig.MAX_ROWS);
    }

    private static void assertSame(ModelRig.Sequence actual, ModelRig.Sequence expected) {
        assertThat(actual.logits).containsExactlyElementsOf(expected.logits);
        assertThat(actual.state).isEqualTo(expected.state);
        assertThat(actual.allSections()).isDeepEqualTo(expected.allSections());
    }

    @Test
    void namesItsFormats() {
        assertThat(model.numericsId()).contains(";profile=w4a8;", ";kv=int8;");
        assertThat(model.layout().layoutId()).contains(";format=int8;");
        KvLayout wide = KvLayout.of(model.config(), KvFormat.BF16);
        assertThat(model.layout().pageBytes()).isLessThan(wide.pageBytes() * 2 / 3);
    }

    @Test
    void chunksEqualTheWholePrompt() {
        ModelRig.Sequence expected = whole(17, LENGTH);
        assertSame(rig.finish(rig.open(rig.tokens(17, LENGTH)), 7), expected);
        ModelRig.Sequence decoded = rig.open(rig.tokens(17, LENGTH));
        rig.step(List.of(decoded), LENGTH - 10);
        assertSame(rig.finish(decoded, 1), expected);
    }

    @Test
    void aBatchEqualsSingles() {
        List<ModelRig.Sequence> singles = List.of(whole(1, 30), whole(2, 30), whole(3, 30));
        List<ModelRig.Sequence> together = singles.stream()
                .map(single -> rig.openShuffled(single.tokens, 5))
                .toList();
        rig.step(together, 11, 20, 3);
        rig.step(together, 19, 10, 27);
        for (int i = 0; i < singles.size(); i++) {
            assertSame(together.get(i), singles.get(i));
        }
    }

    @Test
    void aPrefixHitEqualsAMiss() {
        ModelRig.Sequence miss = whole(17, LENGTH);
        ModelRig.Sequence hit = rig.openShuffled(rig.tokens(17, LENGTH), 9);
        hit.importSections(0, miss.sections(0));
        hit.startBehind(1);
        rig.finish(hit, 3);
        assertThat(hit.logits).containsExactlyElementsOf(miss.logits.subList(64, LENGTH));
        assertThat(hit.allSections()).isDeepEqualTo(miss.allSections());
    }
}
