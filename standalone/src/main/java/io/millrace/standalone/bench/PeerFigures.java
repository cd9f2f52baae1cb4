package io.millrace.standalone.bench;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Set;
import java.util.stream.Collectors;
import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/// What benchmarks of other programs printed.
///
/// @param rows   of all figures that are whole
/// @param fault  what is wrong with the rest
record PeerFigures(List<BenchRow> rows, Optional<String> fault) {
    private static final String SPEED_OF_SWEEP = "\"speed_pp\"";

    PeerFigures {
        rows = List.copyOf(rows);
    }

    /// Of `llama-bench -o json`: an array of objects with `n_prompt`, `n_gen`, `n_depth` and `samples_ts`.
    static PeerFigures ofBench(String json) {
        List<BenchRow> rows = new ArrayList<>();
        try (JsonParser parser = JsonMapper.shared().createParser(json)) {
            if (parser.nextToken() == JsonToken.START_ARRAY) {
                while (parser.nextToken() == JsonToken.START_OBJECT) {
                    JsonNode test = parser.readValueAsTree();
                    addBench(rows, test);
                }
            }
        } catch (JacksonException e) {
            return new PeerFigures(rows, Optional.of("printed what is no JSON: " + e.getOriginalMessage()));
        }
        return new PeerFigures(rows, Optional.empty());
    }

    private static void addBench(List<BenchRow> rows, JsonNode test) {
        int prompt = test.path("n_prompt").asInt(0);
        int generated = test.path("n_gen").asInt(0);
        if (prompt > 0 == generated > 0) {
            return;
        }
        List<Double> speeds = new ArrayList<>();
        for (JsonNode speed : test.path("samples_ts")) {
            speeds.add(speed.asDouble(0));
        }
        if (speeds.isEmpty()) {
            speeds.add(test.path("avg_ts").asDouble(0));
        }
        add(
                rows,
                work(prompt > 0, test.path("n_depth").asInt(0), Math.max(prompt, generated)),
                quantisation(test.path("model_type").asString("")),
                "llama-bench",
                speeds);
    }

    /// Of `llama-sweep-bench --output-format jsonl`: an object a line, with `pp`, `tg`, `n_kv`, `speed_pp` and
    /// `speed_tg`; other lines are passed over.
    static PeerFigures ofSweep(String lines) {
        List<BenchRow> rows = new ArrayList<>();
        for (String line : lines.lines().map(String::strip).toList()) {
            if (line.startsWith("{") && line.contains(SPEED_OF_SWEEP)) {
                try {
                    addSweep(rows, JsonMapper.shared().readTree(line));
                } catch (JacksonException e) {
                    return new PeerFigures(rows, Optional.of("printed what is no JSON: " + e.getOriginalMessage()));
                }
            }
        }
        return new PeerFigures(rows, Optional.empty());
    }

    private static void addSweep(List<BenchRow> rows, JsonNode step) {
        int depth = step.path("n_kv").asInt(0);
        int prompt = step.path("pp").asInt(0);
        int generated = step.path("tg").asInt(0);
        double prefill = step.path("speed_pp").asDouble(0);
        double decode = step.path("speed_tg").asDouble(0);
        add(rows, work(true, depth, prompt), "gguf", "sweep-bench", List.of(prefill));
        add(rows, work(false, depth, generated), "gguf", "sweep-bench", List.of(decode));
    }

    /// Of a sweep, which goes through all depths, the steps that hold the asked depths, and of these the asked phases.
    PeerFigures asked(BenchSettings settings, int step) {
        Set<Integer> depths =
                settings.depths().stream().map(depth -> step(depth, step)).collect(Collectors.toSet());
        return new PeerFigures(
                rows.stream()
                        .filter(row -> depths.contains(row.work().depth()))
                        .filter(row -> row.work().phase() == BenchPhase.PREFILL
                                ? !settings.prefill().isEmpty()
                                : settings.decode() > 0)
                        .toList(),
                fault);
    }

    /// Where the step begins that holds a depth.
    static int step(int depth, int step) {
        return depth / step * step;
    }

    // In steps of its own choice.
    private static BenchWork work(boolean prompt, int depth, int tokens) {
        return prompt ? BenchWork.prefill(depth, tokens, tokens) : BenchWork.decode(depth, tokens);
    }

    private static void add(List<BenchRow> rows, BenchWork work, String profile, String provider, List<Double> speeds) {
        if (work.tokens() <= 0 || speeds.stream().anyMatch(speed -> !(speed > 0 && speed < Double.POSITIVE_INFINITY))) {
            return;
        }
        double[] seconds =
                speeds.stream().mapToDouble(speed -> work.tokens() / speed).toArray();
        rows.add(new BenchRow(
                work,
                profile,
                provider,
                BenchRow.AUTO,
                BenchRow.Speed.of(work.tokens(), seconds),
                OptionalDouble.empty(),
                Map.of(),
                Optional.empty(),
                Optional.empty()));
    }

    // What follows the architecture and the size, without spaces: of `qwen3moe 30B.A3B Q4_K - Medium` it is `Q4_K_M`.
    private static String quantisation(String modelType) {
        String[] words = modelType.strip().split("\\s+", -1);
        int first = Math.min(2, words.length - 1);
        String name = "";
        for (int i = first; i < words.length; i++) {
            String word = words[i];
            if (word.matches("Small|Medium|Large")) {
                return name + "_" + word.charAt(0);
            }
            if (name.isEmpty() && !word.matches("all|mostly|\\(guessed\\)|-")) {
                name = word;
            }
        }
        return name.isEmpty() ? "gguf" : name;
    }
}
