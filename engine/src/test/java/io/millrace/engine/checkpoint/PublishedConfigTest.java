package io.millrace.engine.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.millrace.kernels.RopeStyle;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/// The published models' configurations, and the tensor counts and sizes that are published for them.
class PublishedConfigTest {

    @Test
    void glm5HasItsPublishedSize() {
        ModelConfig config = read("glm-5");
        assertThat(config).isEqualTo(read("glm-5.1"));
        assertThat(config.softmaxScale()).isEqualTo(0.0625f);
        assertThat(config.rope()).isEqualTo(new RopeScaling(1e6, 64, null));
        assertThat(config.mlaShape().ropeDim()).isEqualTo(64);
        assertThat(IntStream.rangeClosed(0, 78).allMatch(config::ownsIndexer)).isTrue();
        assertThat(IntStream.rangeClosed(0, 78).filter(config::isDense)).containsExactly(0, 1, 2);
        assertThat(config.eosTokenIds()).isEqualTo(List.of(154820, 154827, 154829));
        Count all = Count.of(config, true);
        assertThat(all.elements).isEqualTo(753_864_139_008L);
        assertThat(all.tensors).isEqualTo(59_870);
        assertThat(Count.of(config, false).elements).isEqualTo(743_911_218_432L);
    }

    @Test
    void glm52HasItsPublishedSize() {
        ModelConfig config = read("glm-5.2");
        assertThat(config.rope().theta()).isEqualTo(8e6);
        assertThat(config.maxPositionEmbeddings()).isEqualTo(1 << 20);
        assertThat(config.indexer().sharedForMtp()).isTrue();
        assertThat(config.indexer().ropeStyle()).isEqualTo(RopeStyle.INTERLEAVED);
        assertThat(IntStream.rangeClosed(0, 78).filter(config::ownsIndexer).count())
                .isEqualTo(22);
        assertThat(IntStream.rangeClosed(0, 11).filter(config::ownsIndexer)).containsExactly(0, 1, 2, 6, 10);
        assertThat(config.fp8()).hasValue(new Fp8Blocks(128, 128));
        Count all = Count.of(config, true);
        assertThat(all.elements).isEqualTo(753_329_940_480L);
        assertThat(all.tensors).isEqualTo(59_585);
        assertThat(all.tensors + all.scaleTensors).isEqualTo(118_629);
        assertThat(all.fp8ReleaseBytes).isEqualTo(755_617_140_416L);
    }

    @Test
    void deepseekV32HasItsPublishedSize() {
        ModelConfig config = read("deepseek-v3.2");
        assertThat(config.gating().groups()).isEqualTo(8);
        assertThat(config.gating().topKGroups()).isEqualTo(4);
        assertThat(config.indexer().ropeStyle()).isEqualTo(RopeStyle.HALF_SPLIT);
        assertThat(config.mlaShape().ropeStyle()).isEqualTo(RopeStyle.INTERLEAVED);
        assertThat((double) config.softmaxScale()).isCloseTo(0.135234, within(1e-6));
        assertThat(config.rope().yarn()).isEqualTo(new RopeScaling.Yarn(40, 32, 1, 1, 4096));
        assertThat(config.rmsEps()).isEqualTo(1e-6f);
        assertThat(config.eosTokenIds()).containsExactly(1);
        Count all = Count.of(config, true);
        assertThat(all.elements / 1e9).isCloseTo(683.50, within(0.01));
        assertThat((all.elements + all.repeatedElements) / 1e9).isCloseTo(685.4, within(0.1));
    }

    private static ModelConfig read(String name) {
        return ModelConfig.read(TestCheckpoints.root().resolve("engine/src/test/resources/checkpoint/published", name));
    }

    private static final class Count implements ExpectedTensors.Visitor {
        private final Fp8Blocks blocks = new Fp8Blocks(128, 128);
        private int tensors;
        private int scaleTensors;
        private long elements;
        private long repeatedElements;
        private long fp8ReleaseBytes;

        static Count of(ModelConfig config, boolean mtpLayer) {
            Count count = new Count();
            ExpectedTensors.walk(config, mtpLayer, count);
            return count;
        }

        @Override
        public void matrix(String name, long rows, long columns) {
            tensors++;
            elements += rows * columns;
            boolean kept = List.of("embed_tokens", "lm_head", "mlp.gate.", "weights_proj", "eh_proj").stream()
                    .anyMatch(name::contains);
            if (kept) {
                fp8ReleaseBytes += 2 * rows * columns;
            } else {
                scaleTensors++;
                fp8ReleaseBytes += rows * columns + 4L * blocks.scaleRows(rows) * blocks.scaleColumns(columns);
            }
        }

        @Override
        public void vector(String name, long size) {
            tensors++;
            elements += size;
            fp8ReleaseBytes += (name.endsWith("e_score_correction_bias") ? 4 : 2) * size;
        }

        @Override
        public void optionalMatrix(String name, long rows, long columns) {
            repeatedElements += rows * columns;
        }
    }
}
