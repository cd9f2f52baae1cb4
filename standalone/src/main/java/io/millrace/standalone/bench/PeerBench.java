package io.millrace.standalone.bench;

import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/// Runs benchmarks of other programs that the user has: `LLAMA_BENCH` and `SWEEP_BENCH` name binaries of
/// these kinds, `LLAMA_GGUF` a model for them. What is not named is not run.
public final class PeerBench {
    private static final String BENCH = "LLAMA_BENCH";
    private static final String SWEEP = "SWEEP_BENCH";
    private static final String GGUF = "LLAMA_GGUF";
    private static final int SWEEP_STEP = 512;

    private final Map<String, String> environment;
    private final BenchSettings settings;

    public PeerBench(Map<String, String> environment, BenchSettings settings) {
        this.environment = environment;
        this.settings = settings;
    }

    /// Checks that what is named is there, before anything is measured.
    ///
    /// @throws IllegalArgumentException naming the variable that is wrong or missing
    public void check() {
        for (String name : List.of(BENCH, SWEEP)) {
            String program = value(name);
            if (program.isEmpty()) {
                continue;
            }
            if (!isProgram(program)) {
                throw new IllegalArgumentException(name + ": " + program + " (expected: a program that can be run)");
            }
            if (value(GGUF).isEmpty()) {
                throw new IllegalArgumentException(
                        GGUF + ": not set beside " + name + " (expected: the GGUF file that it measures)");
            }
            if (!Files.isRegularFile(Path.of(value(GGUF)))) {
                throw new IllegalArgumentException(GGUF + ": " + value(GGUF) + " (expected: a GGUF file)");
            }
        }
    }

    private String value(String name) {
        return environment.getOrDefault(name, "").strip();
    }

    // Looked for as the system does when it is started.
    private static boolean isProgram(String program) {
        if (program.contains(File.separator)) {
            return isExecutable(Path.of(program));
        }
        String path = System.getenv().getOrDefault("PATH", "");
        return Arrays.stream(path.split(File.pathSeparator, -1))
                .filter(folder -> !folder.isEmpty())
                .anyMatch(folder -> isExecutable(Path.of(folder, program)));
    }

    private static boolean isExecutable(Path file) {
        return Files.isRegularFile(file) && Files.isExecutable(file);
    }

    /// Their figures.
    ///
    /// @param rows  told each row once its program has ended
    /// @throws MillraceException `INTERNAL` if a program that is named fails
    public void run(Consumer<BenchRow> rows) throws IOException {
        String model = value(GGUF);
        if (!value(BENCH).isEmpty()) {
            benchRows(output(benchCommand(value(BENCH), model))).forEach(rows);
        }
        if (!value(SWEEP).isEmpty()) {
            sweepRows(output(sweepCommand(value(SWEEP), model))).forEach(rows);
        }
    }

    private List<String> benchCommand(String program, String model) {
        return List.of(
                program,
                "-m",
                model,
                "-t",
                String.valueOf(settings.kernels().threads()),
                "-p",
                settings.prefill().isEmpty() ? "0" : list(settings.prefill()),
                "-n",
                String.valueOf(settings.decode()),
                "-d",
                list(settings.depths()),
                "-r",
                String.valueOf(settings.repeats()),
                "-o",
                "json");
    }

    private List<String> sweepCommand(String program, String model) {
        return List.of(
                program,
                "--output-format",
                "jsonl",
                "-m",
                model,
                "-t",
                String.valueOf(settings.kernels().threads()),
                "-c",
                String.valueOf(settings.deepest() + SWEEP_STEP),
                "-ub",
                String.valueOf(SWEEP_STEP));
    }

    private static String list(List<Integer> values) {
        return values.stream().map(String::valueOf).collect(Collectors.joining(","));
    }

    private static String output(List<String> command) throws IOException {
        Process process = new ProcessBuilder(command)
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
        process.getOutputStream().close();
        try (InputStream out = process.getInputStream()) {
            String text = new String(out.readAllBytes(), StandardCharsets.UTF_8);
            int exit = process.waitFor();
            if (exit != 0) {
                throw new MillraceException(
                        ErrorCode.INTERNAL, command.getFirst() + " ended with " + exit + " (expected: 0)");
            }
            return text;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw (InterruptedIOException) new InterruptedIOException("interrupted").initCause(e);
        } finally {
            process.destroy();
        }
    }

    /// Rows of `llama-bench -o json`: an array of objects with `n_prompt`, `n_gen`, `n_depth` and
    /// `samples_ts`.
    static List<BenchRow> benchRows(String json) {
        List<BenchRow> rows = new ArrayList<>();
        for (JsonNode test : read(json)) {
            int prompt = test.path("n_prompt").asInt(0);
            int generated = test.path("n_gen").asInt(0);
            if (prompt > 0 == generated > 0) {
                continue;
            }
            int tokens = Math.max(prompt, generated);
            List<Double> seconds = new ArrayList<>();
            for (JsonNode speed : test.path("samples_ts")) {
                seconds.add(tokens / speed.asDouble());
            }
            if (seconds.isEmpty()) {
                seconds.add(tokens / test.path("avg_ts").asDouble());
            }
            rows.add(row(
                    work(prompt > 0, test.path("n_depth").asInt(0), tokens),
                    quantisation(test.path("model_type").asString("")),
                    "llama-bench",
                    seconds));
        }
        return rows;
    }

    /// Rows of `llama-sweep-bench --output-format jsonl`: an object a line, with `pp`, `tg`, `n_kv`,
    /// `speed_pp` and `speed_tg`; other lines are passed over.
    static List<BenchRow> sweepRows(String lines) {
        List<BenchRow> rows = new ArrayList<>();
        for (String line : lines.lines().map(String::strip).toList()) {
            if (!line.startsWith("{") || !line.contains("\"speed_pp\"")) {
                continue;
            }
            JsonNode step = read(line);
            int depth = step.path("n_kv").asInt(0);
            int prompt = step.path("pp").asInt(0);
            int generated = step.path("tg").asInt(0);
            double prefill = step.path("speed_pp").asDouble(0);
            double decode = step.path("speed_tg").asDouble(0);
            rows.add(row(work(true, depth, prompt), "gguf", "sweep-bench", List.of(prompt / prefill)));
            rows.add(row(work(false, depth, generated), "gguf", "sweep-bench", List.of(generated / decode)));
        }
        return rows;
    }

    private static JsonNode read(String json) {
        try {
            return JsonMapper.shared().readTree(json);
        } catch (JacksonException e) {
            throw new MillraceException(
                    ErrorCode.INTERNAL, "output of another benchmark is no JSON: " + e.getOriginalMessage(), e);
        }
    }

    // In steps of its own choice.
    private static BenchWork work(boolean prompt, int depth, int tokens) {
        return prompt ? BenchWork.prefill(depth, tokens, tokens) : BenchWork.decode(depth, tokens);
    }

    private static BenchRow row(BenchWork work, String profile, String provider, List<Double> seconds) {
        double[] times = seconds.stream().mapToDouble(Double::doubleValue).toArray();
        return new BenchRow(
                work,
                profile,
                provider,
                BenchRow.AUTO,
                BenchRow.Speed.of(work.tokens(), times),
                Map.of(),
                Optional.empty(),
                Optional.empty());
    }

    // `glm_moe 3B Q8_0`: the last word.
    private static String quantisation(String modelType) {
        String last = modelType.strip().replaceAll("^.*\\s", "");
        return last.isEmpty() ? "gguf" : last;
    }
}
