package io.millrace.engine.evaluation;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.engine.kv.PagePool;
import io.millrace.engine.model.LoadProgress;
import io.millrace.engine.model.LoadedModel;
import io.millrace.engine.model.StepGate;
import io.millrace.engine.model.StepInput;
import io.millrace.engine.model.StepPriority;
import io.millrace.engine.model.TestModels;
import io.millrace.engine.model.Transformer;
import io.millrace.engine.settings.DsaSettings;
import io.millrace.engine.settings.EngineSettings;
import io.millrace.engine.settings.KernelSettings;
import io.millrace.engine.settings.KvSettings;
import io.millrace.engine.settings.WeightsSettings;
import io.millrace.kernels.KvFormat;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/// Sparse against dense attention of the trained model on its held-out text: how often both predict the
/// same next token, and how much of dense attention falls on the slots that the indexer selects. As good
/// as in the reference run, up to half a point, within the length it was trained to; beyond that length
/// the figures are printed.
class SparseFidelityTest {
    private static final double TOLERANCE = 0.005;
    private static final int TOP_K = 128;
    private static final int MAX_ROWS = 512;
    private static final Path EVAL = TestModels.directory(TestModels.MINI).resolve("eval");
    private static final JsonMapper JSON = new JsonMapper();

    /// What came of a set of sequences.
    ///
    /// @param positions   that were compared
    /// @param equal       of them, where both predict the same token
    /// @param mass        mean share of dense attention that falls on selected slots
    /// @param denseNats   loss of dense attention over these positions, of the text's own next tokens
    /// @param sparseNats  of sparse attention
    private record Fidelity(int positions, int equal, double mass, double denseNats, double sparseNats) {
        double agreement() {
            return (double) equal / positions;
        }
    }

    /// Of one sequence: the likeliest token after each position, and the loss of the text's own token
    /// there, 0 after the last.
    private static final class Predicted {
        private final int[] best;
        private final double[] nats;

        Predicted(int length) {
            this.best = new int[length];
            this.nats = new double[length];
        }
    }

    @Test
    void upToTheTrainedLengthItIsAsTrueAsTheReferenceRun() throws IOException {
        Fidelity fidelity = measure(texts(), TOP_K);
        assertThat(fidelity.positions).isEqualTo(expected("dsa_positions").asInt());
        assertThat(fidelity.agreement())
                .isGreaterThanOrEqualTo(
                        expected("dsa_top1_agreement_with_dense").asDouble() - TOLERANCE);
        assertThat(fidelity.mass)
                .isGreaterThanOrEqualTo(expected("dsa_attention_mass").asDouble() - TOLERANCE);
    }

    /// The second half of each sequence is compared: rows that see half as many slots or more.
    @ParameterizedTest
    @ValueSource(ints = {2048, 4096, 8192})
    @Tag("soak")
    void longTextIsReported(int length) throws IOException {
        int[] all = texts().stream().flatMapToInt(Arrays::stream).toArray();
        List<int[]> sequences = new ArrayList<>();
        for (int from = 0; from + length <= all.length; from += length) {
            sequences.add(Arrays.copyOfRange(all, from, from + length));
        }
        Fidelity fidelity = measure(sequences, length / 2);
        assertThat(fidelity.positions).isEqualTo(sequences.size() * (length / 2));
        assertThat(fidelity.mass).isBetween(0.0, 1.0);
    }

    private static JsonNode expected(String key) throws IOException {
        return JSON.readTree(Files.readString(EVAL.resolve("expected.json"))).get(key);
    }

    private static List<int[]> texts() throws IOException {
        List<int[]> texts = new ArrayList<>();
        for (String line : Files.readAllLines(EVAL.resolve("heldout.jsonl"))) {
            texts.add(JSON.readTree(line)
                    .get("ids")
                    .valueStream()
                    .mapToInt(JsonNode::asInt)
                    .toArray());
        }
        return texts;
    }

    /// @param from  first position that is compared
    private static Fidelity measure(List<int[]> sequences, int from) {
        AtomicReference<AttentionMass> mass = new AtomicReference<>();
        List<Predicted> dense;
        List<Predicted> sparse;
        try (LoadedModel model =
                LoadedModel.load(TestModels.directory(TestModels.MINI), settings(0), LoadProgress.SILENT, kernels -> {
                    mass.set(new AttentionMass(kernels));
                    mass.get().countFrom(from);
                    return mass.get();
                })) {
            dense = predictions(model, sequences);
        }
        try (LoadedModel model =
                LoadedModel.load(TestModels.directory(TestModels.MINI), settings(TOP_K), LoadProgress.SILENT)) {
            sparse = predictions(model, sequences);
        }
        Fidelity fidelity = compare(dense, sparse, from, mass.get().mean());
        System.out.printf(
                Locale.ROOT,
                "SparseFidelityTest: %d sequences of at most %d tokens, %d positions from %d: same token %.2f %%, "
                        + "attention mass %.2f %%, loss dense %.3f, sparse %.3f%n",
                sequences.size(),
                sequences.stream().mapToInt(ids -> ids.length).max().orElse(0),
                fidelity.positions,
                from,
                100 * fidelity.agreement(),
                100 * fidelity.mass,
                fidelity.denseNats / fidelity.positions,
                fidelity.sparseNats / fidelity.positions);
        return fidelity;
    }

    private static Fidelity compare(List<Predicted> dense, List<Predicted> sparse, int from, double mass) {
        int positions = 0;
        int equal = 0;
        double denseNats = 0;
        double sparseNats = 0;
        for (int i = 0; i < dense.size(); i++) {
            for (int position = from; position < dense.get(i).best.length; position++) {
                positions++;
                equal += dense.get(i).best[position] == sparse.get(i).best[position] ? 1 : 0;
                denseNats += dense.get(i).nats[position];
                sparseNats += sparse.get(i).nats[position];
            }
        }
        return new Fidelity(positions, equal, mass, denseNats, sparseNats);
    }

    private static EngineSettings settings(int topK) {
        return new EngineSettings(
                new KernelSettings(null, 2, null, null),
                new DsaSettings(topK),
                new KvSettings(KvFormat.F32, null),
                new WeightsSettings(0, null, WeightsSettings.OFF));
    }

    private static List<Predicted> predictions(LoadedModel model, List<int[]> sequences) {
        int longest = sequences.stream().mapToInt(ids -> ids.length).max().orElse(1);
        StepInput input = new StepInput(MAX_ROWS, 1);
        List<Predicted> all = new ArrayList<>();
        try (PagePool pool = PagePool.create(model.layout(), PagePool.pagesFor(longest));
                Transformer transformer = new Transformer(model, pool, input);
                Arena arena = Arena.ofShared()) {
            long bytes = (long) MAX_ROWS * model.config().vocabSize() * Float.BYTES;
            Run run = new Run(model, transformer, input, arena.allocate(bytes, 64));
            int[] pages = new int[pool.pages()];
            for (int i = 0; i < pages.length; i++) {
                pages[i] = pool.allocate();
            }
            for (int[] ids : sequences) {
                all.add(run.predict(ids, pages));
            }
        }
        return all;
    }

    private record Run(LoadedModel model, Transformer transformer, StepInput input, MemorySegment logits) {

        Predicted predict(int[] ids, int[] pages) {
            Predicted predicted = new Predicted(ids.length);
            float[] state = new float[model.config().hiddenSize()];
            for (int from = 0; from < ids.length; from += MAX_ROWS) {
                int count = Math.min(MAX_ROWS, ids.length - from);
                input.clear();
                input.addSequence(pages, from, state);
                int[] rows = new int[count];
                for (int i = 0; i < count; i++) {
                    rows[i] = input.addToken(ids[from + i]);
                }
                try (StepGate.Turn _ = model.gate().enter(StepPriority.PREFILL)) {
                    transformer.forward(input);
                    transformer.logits(rows, count, logits);
                    transformer.state(count - 1, state);
                }
                for (int i = 0; i < count; i++) {
                    read(i, ids, from + i, predicted);
                }
            }
            return predicted;
        }

        private void read(int row, int[] ids, int position, Predicted predicted) {
            float[] values = new float[model.config().vocabSize()];
            MemorySegment.copy(logits, JAVA_FLOAT, (long) row * values.length * Float.BYTES, values, 0, values.length);
            int best = 0;
            for (int id = 1; id < values.length; id++) {
                best = values[id] > values[best] ? id : best;
            }
            predicted.best[position] = best;
            if (position + 1 < ids.length) {
                double sum = 0;
                for (float value : values) {
                    sum += Math.exp((double) value - values[best]);
                }
                predicted.nats[position] = Math.log(sum) - (values[ids[position + 1]] - values[best]);
            }
        }
    }
}
