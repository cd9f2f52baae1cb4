package io.millrace.engine.model;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.millrace.engine.kv.PagePool;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/// The trained model on its held-out text: loss, top-1 and second-token top-1 are those of the
/// reference run.
class HeldOutTest {
    private static final int MAX_ROWS = 1024;
    private static final int MAX_SEQUENCES = 32;
    private static final JsonMapper JSON = new JsonMapper();

    /// A line of the file: loss counts over tokens whose mask is set, each predicted from those before it.
    private static final class Line {
        private final String set;
        private final int[] ids;
        private final boolean[] mask;

        Line(String set, int[] ids, boolean[] mask) {
            this.set = set;
            this.ids = ids;
            this.mask = mask;
        }
    }

    /// Sums over a set.
    private static final class Score {
        private double loss;
        private int tokens;
        private int right;
    }

    private final Map<String, Score> scores = new HashMap<>();
    private int drafted;
    private int draftedRight;

    @Test
    void lossAndTopOneAreThoseOfTheReferenceRun() throws IOException {
        Path eval = TestModels.directory(TestModels.MINI).resolve("eval");
        List<Line> lines = new ArrayList<>();
        for (String text : Files.readAllLines(eval.resolve("heldout.jsonl"))) {
            JsonNode node = JSON.readTree(text);
            lines.add(new Line(node.get("set").asString(), ints(node.get("ids")), flags(node.get("mask"))));
        }
        try (LoadedModel model = TestModels.load(TestModels.MINI, TestModels.Options.of("vector"));
                Arena arena = Arena.ofShared()) {
            int vocabSize = model.config().vocabSize();
            score(lines, model, arena.allocate((long) MAX_ROWS * vocabSize * Float.BYTES, 64));
        }
        JsonNode expected = JSON.readTree(Files.readString(eval.resolve("expected.json")));
        for (String set : List.of("chat", "long")) {
            Score score = Objects.requireNonNull(scores.get(set));
            assertThat(score.tokens).isEqualTo(expected.get("tokens").get(set).asInt());
            assertThat(score.loss / score.tokens)
                    .as("loss of " + set)
                    .isCloseTo(expected.get("loss").get(set).asDouble(), within(1e-3));
            assertThat((double) score.right / score.tokens)
                    .as("top-1 of " + set)
                    .isCloseTo(expected.get("top1").get(set).asDouble(), within(2e-3));
        }
        assertThat(drafted).isEqualTo(expected.get("mtp_tokens").asInt());
        assertThat((double) draftedRight / drafted)
                .isCloseTo(expected.get("mtp_top1_second_token").asDouble(), within(2e-3));
    }

    private void score(List<Line> lines, LoadedModel model, MemorySegment logits) {
        StepInput input = new StepInput(MAX_ROWS, MAX_SEQUENCES);
        try (PagePool pool = PagePool.create(model.layout(), MAX_ROWS / 64 + MAX_SEQUENCES);
                Transformer transformer = new Transformer(model, pool, input)) {
            int next = 0;
            while (next < lines.size()) {
                List<Line> group = new ArrayList<>();
                List<int[]> tables = new ArrayList<>();
                input.clear();
                while (next < lines.size()
                        && group.size() < MAX_SEQUENCES
                        && input.rows() + lines.get(next).ids.length <= MAX_ROWS) {
                    Line line = lines.get(next++);
                    group.add(line);
                    tables.add(add(input, line, pool));
                }
                assertThat(group).isNotEmpty();
                transformer.forward(input);
                scoreGroup(group, transformer, logits, false);
                transformer.predict();
                scoreGroup(group, transformer, logits, true);
                for (int[] table : tables) {
                    for (int page : table) {
                        pool.free(page);
                    }
                }
            }
        }
    }

    private static int[] add(StepInput input, Line line, PagePool pool) {
        int[] pages = new int[PagePool.pagesFor(line.ids.length)];
        for (int i = 0; i < pages.length; i++) {
            pages[i] = pool.allocate();
        }
        input.addSequence(pages, 0, new float[0]);
        for (int id : line.ids) {
            input.addToken(id);
        }
        return pages;
    }

    // Token i is predicted by row i-1: from the states of tokens up to i-1, or as a draft from those up to i-2.
    private void scoreGroup(List<Line> group, Transformer transformer, MemorySegment logits, boolean drafts) {
        int[] rows = new int[MAX_ROWS];
        int count = 0;
        int first = 0;
        for (Line line : group) {
            for (int i = 0; i < line.ids.length; i++) {
                if (line.mask[i]) {
                    rows[count++] = first + i - 1;
                }
            }
            first += line.ids.length;
        }
        if (drafts) {
            transformer.predictedLogits(rows, count, logits);
        } else {
            transformer.logits(rows, count, logits);
        }
        int at = 0;
        for (Line line : group) {
            for (int i = 0; i < line.ids.length; i++) {
                if (line.mask[i]) {
                    scoreToken(line, i, row(logits, at++), drafts);
                }
            }
        }
    }

    private void scoreToken(Line line, int i, float[] row, boolean draft) {
        int best = 0;
        for (int id = 1; id < row.length; id++) {
            best = row[id] > row[best] ? id : best;
        }
        int right = best == line.ids[i] ? 1 : 0;
        if (draft) {
            drafted++;
            draftedRight += right;
            return;
        }
        double sum = 0;
        for (float value : row) {
            sum += Math.exp((double) value - row[best]);
        }
        Score score = scores.computeIfAbsent(line.set, set -> new Score());
        score.loss += Math.log(sum) - (row[line.ids[i]] - row[best]);
        score.tokens++;
        score.right += right;
    }

    private static float[] row(MemorySegment logits, int row) {
        float[] values = new float[4096];
        MemorySegment.copy(logits, JAVA_FLOAT, (long) row * values.length * Float.BYTES, values, 0, values.length);
        return values;
    }

    private static int[] ints(JsonNode array) {
        int[] values = new int[array.size()];
        for (int i = 0; i < values.length; i++) {
            values[i] = array.get(i).asInt();
        }
        return values;
    }

    private static boolean[] flags(JsonNode array) {
        boolean[] values = new boolean[array.size()];
        for (int i = 0; i < values.length; i++) {
            values[i] = array.get(i).asInt() != 0;
        }
        return values;
    }
}
