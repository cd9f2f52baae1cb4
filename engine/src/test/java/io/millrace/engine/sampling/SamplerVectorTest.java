package io.millrace.engine.sampling;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.engine.checkpoint.TestCheckpoints;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/// Against `sampling/vectors.json`, which `sampling/vectors.py` made without this code: pins the draws of every seed.
class SamplerVectorTest {

    @Test
    void drawsMatchTheVectors() {
        JsonNode vectors = JsonMapper.shared()
                .readTree(TestCheckpoints.root()
                        .resolve("engine/src/test/resources/sampling/vectors.json")
                        .toFile());
        assertThat(vectors).hasSize(8).allSatisfy(vector -> {
            SamplingParams params = new SamplingParams(
                    vector.get("temperature").floatValue(),
                    vector.get("topK").intValue(),
                    vector.get("topP").floatValue(),
                    vector.get("minP").floatValue(),
                    OptionalInt.empty());
            float[] logits = logits(vector.get("vocabSize").intValue());
            RowSampler sampler = new RowSampler(logits.length);
            long seed = Long.parseUnsignedLong(vector.get("seed").stringValue());
            int choice = vector.get("choiceIndex").intValue();
            List<Integer> drawn = new ArrayList<>();
            for (int position = 0; position < 40; position++) {
                drawn.add(sampler.sample(logits, params, seed, choice, position).id());
            }
            assertThat(drawn)
                    .isEqualTo(vector.get("ids")
                            .valueStream()
                            .map(JsonNode::intValue)
                            .toList());
        });
    }

    @Test
    void aDrawAllocatesNothingThatGrowsWithTheVocabulary() {
        float[] logits = logits(50_000);
        RowSampler sampler = new RowSampler(logits.length);
        SamplingParams params = new SamplingParams(1, 100, 0.9f, 0, OptionalInt.of(5));
        var threads = (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
        sampler.sample(logits, params, 1, 0, 0);
        long before = threads.getCurrentThreadAllocatedBytes();
        for (int position = 0; position < 100; position++) {
            sampler.sample(logits, params, 1, 0, position);
        }
        assertThat(threads.getCurrentThreadAllocatedBytes() - before).isLessThan(100 * 2000L);
    }

    private static float[] logits(int vocabSize) {
        float[] logits = new float[vocabSize];
        for (int i = 0; i < vocabSize; i++) {
            logits[i] = (float) ((i * 37L % 101) / 20.0 - 2);
        }
        return logits;
    }
}
