package io.millrace.standalone.bench;

import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.stream.Collectors;

/// Runs benchmarks of other programs that the user has: `LLAMA_BENCH` and `SWEEP_BENCH` name binaries of
/// these kinds, `LLAMA_GGUF` a model for them. What is not named is not run.
public final class PeerBench {
    private static final String BENCH = "LLAMA_BENCH";
    private static final String SWEEP = "SWEEP_BENCH";
    private static final String GGUF = "LLAMA_GGUF";
    private static final String MAGIC = "GGUF";
    private static final int SWEEP_STEP = 512;

    private final Map<String, String> environment;
    private final BenchSettings settings;
    private final Duration limit;
    private final Consumer<String> notes;

    /// @param limit  of the time of each program
    /// @param notes  told a sentence now and then
    public PeerBench(Map<String, String> environment, BenchSettings settings, Duration limit, Consumer<String> notes) {
        this.environment = environment;
        this.settings = settings;
        this.limit = limit;
        this.notes = notes;
    }

    /// Checks that what is named is there, before anything is measured.
    ///
    /// @throws IllegalArgumentException naming the variable that is wrong or missing
    public void check() throws IOException {
        List<String> named = named();
        for (String name : named) {
            if (!isProgram(value(name))) {
                throw new IllegalArgumentException(
                        name + ": " + value(name) + " (expected: a program that can be run)");
            }
        }
        String model = value(GGUF);
        if (named.isEmpty()) {
            if (!model.isEmpty()) {
                notes.accept(GGUF + " is set, but no program that measures it (expected: " + BENCH + " or " + SWEEP
                        + " as well)");
            }
            return;
        }
        if (model.isEmpty()) {
            throw new IllegalArgumentException(
                    GGUF + ": not set beside " + named.getFirst() + " (expected: the GGUF file that it measures)");
        }
        Path file = Path.of(model);
        if (!Files.isRegularFile(file) || !Files.isReadable(file)) {
            throw new IllegalArgumentException(GGUF + ": " + model + " (expected: a GGUF file)");
        }
        try (InputStream in = Files.newInputStream(file)) {
            if (!new String(in.readNBytes(MAGIC.length()), StandardCharsets.ISO_8859_1).equals(MAGIC)) {
                throw new IllegalArgumentException(
                        GGUF + ": " + model + " does not begin with " + MAGIC + " (expected: a GGUF file)");
            }
        }
        if (settings.prefill().isEmpty() && settings.decode() == 0) {
            throw new IllegalArgumentException(named.getFirst()
                    + ": nothing to measure (expected: --prefill or --decode; other programs have no --verify)");
        }
    }

    /// The variables of the programs that are run and of their model; empty if there is no program.
    public Map<String, String> variables() {
        Map<String, String> variables = new LinkedHashMap<>();
        for (String name : named()) {
            variables.put(name, value(name));
            variables.put(GGUF, value(GGUF));
        }
        return variables;
    }

    private List<String> named() {
        return List.of(BENCH, SWEEP).stream()
                .filter(name -> !value(name).isEmpty())
                .toList();
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

    /// Their figures. One that fails keeps none of the others from being run.
    ///
    /// @param rows  told each row once its program has ended
    /// @throws MillraceException `INTERNAL` if a program that is named fails
    public void run(Consumer<BenchRow> rows) throws IOException {
        List<String> faults = new ArrayList<>();
        for (String name : named()) {
            notes.accept(name + ": " + value(name) + " measures, for at most " + limit.toMinutes()
                    + " min (--peer-minutes)");
            boolean sweeps = name.equals(SWEEP);
            PeerProcess.Output output = PeerProcess.run(sweeps ? sweepCommand() : benchCommand(), limit);
            PeerFigures figures = sweeps
                    // Builds differ in which of the two they print on.
                    ? PeerFigures.ofSweep(output.out() + "\n" + output.err()).asked(settings, SWEEP_STEP)
                    : PeerFigures.ofBench(output.out());
            for (BenchRow row : figures.rows()) {
                notes.accept(note(row));
                rows.accept(row);
            }
            fault(output, figures)
                    .ifPresent(fault -> faults.add(name + ": " + value(name) + " " + fault + said(output)));
        }
        if (!faults.isEmpty()) {
            throw new MillraceException(ErrorCode.INTERNAL, String.join("; ", faults));
        }
    }

    private static Optional<String> fault(PeerProcess.Output output, PeerFigures figures) {
        return output.failure()
                .or(figures::fault)
                .or(() -> figures.rows().isEmpty() ? Optional.of("printed no figures") : Optional.empty());
    }

    private static String said(PeerProcess.Output output) {
        String words = output.lastWords();
        return words.isEmpty() ? "" : ", its words: " + words;
    }

    private static String note(BenchRow row) {
        return String.format(
                Locale.ROOT,
                "%s %s, %s: %.1f tokens/s",
                row.profile(),
                row.work().label(),
                row.provider(),
                row.speed().median());
    }

    // Not all builds know depths.
    private List<String> benchCommand() {
        List<String> command = command(BENCH);
        command.addAll(List.of("-p", settings.prefill().isEmpty() ? "0" : list(settings.prefill())));
        command.addAll(List.of("-n", String.valueOf(settings.decode())));
        if (settings.deepest() > 0) {
            command.addAll(List.of("-d", list(settings.depths())));
        }
        command.addAll(List.of("-r", String.valueOf(settings.repeats()), "-o", "json"));
        return command;
    }

    // It measures from step to step until the context is full, and fails where the last step does not fit.
    private List<String> sweepCommand() {
        List<String> command = command(SWEEP);
        command.addAll(List.of("--output-format", "jsonl"));
        command.addAll(List.of("-c", String.valueOf(PeerFigures.step(settings.deepest(), SWEEP_STEP) + SWEEP_STEP)));
        command.addAll(List.of("-ub", String.valueOf(SWEEP_STEP)));
        if (settings.decode() > 0) {
            command.addAll(List.of("-n", String.valueOf(settings.decode())));
        }
        return command;
    }

    // Both run in a folder of their own.
    private List<String> command(String name) {
        String program = value(name);
        return new ArrayList<>(List.of(
                program.contains(File.separator) ? absolute(program) : program,
                "-m",
                absolute(value(GGUF)),
                "-t",
                String.valueOf(settings.kernels().threads())));
    }

    private static String absolute(String file) {
        return Path.of(file).toAbsolutePath().toString();
    }

    private static String list(List<Integer> values) {
        return values.stream().map(String::valueOf).collect(Collectors.joining(","));
    }
}
