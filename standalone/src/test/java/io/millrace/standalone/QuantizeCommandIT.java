package io.millrace.standalone;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.engine.checkpoint.ModelConfig;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/// `millrace quantize` with the embedded model.
class QuantizeCommandIT {
    private static final Path MINI = Path.of(System.getProperty("millrace.root", ".."), "models", "mini");

    @TempDir
    private Path folder = Path.of("");

    @Test
    void writesACheckpointAndPrintsItsReport() throws IOException {
        Path text = Files.writeString(
                folder.resolve("text.jsonl"),
                "{\"messages\": [{\"role\": \"user\", \"content\": \"What is 5 + 8?\"},"
                        + " {\"role\": \"assistant\", \"content\": \"13\"}]}\n{\"text\": \"int sum = a + b;\"}\n");
        Path made = folder.resolve("made");
        CommandRun run = quantize(made, "w4a8", "--calibration", text.toString());
        assertThat(run.exitCode()).as(run.errors()).isZero();
        assertThat(run.answers())
                .contains("profile: w4a8", "scale search: yes")
                .anyMatch(line -> line.startsWith("size: 19,425,024 bytes before, "))
                .anyMatch(line -> line.startsWith("error of layer 6: "))
                .anyMatch(line -> line.matches("warning: \\d+ tokens of calibration are too few to rank options by"
                        + " \\(expected: 1,000 tokens or more\\)"))
                .contains("errors: what rounding its matrices changes of their output, relative to the output,"
                        + " for inputs as in the calibration text")
                .anyMatch(line -> line.startsWith("perplexity: "))
                .noneMatch(line -> line.startsWith("note: "));
        assertThat(run.errors()).contains("calibrating: 1 of ", "writing: 1 of ", "measuring: 1 of ");
        assertThat(Files.readAllLines(made.resolve("quantize-report.txt"))).isEqualTo(run.answers());
        assertThat(ModelConfig.read(made).rotation()).isPresent();
        assertThat(List.of("tokenizer.json", "chat_template.jinja", "generation_config.json"))
                .allSatisfy(name -> assertThat(made.resolve(name)).hasSameBinaryContentAs(MINI.resolve(name)));
        CommandRun again = quantize(made, "w4a8");
        assertThat(again.exitCode()).isEqualTo(1);
        assertThat(again.errors()).contains(made + ": exists already").hasLineCount(1);
    }

    @Test
    void theBuiltInTextIsWarnedOfForAModelThatDoesNotKnowIt() throws IOException {
        Path bare = Files.createDirectory(folder.resolve("bare"));
        for (String name : List.of("config.json", "model.safetensors", "tokenizer.json", "chat_template.jinja")) {
            Files.copy(MINI.resolve(name), bare.resolve(name));
        }
        CommandRun run = quantizeFrom(bare, folder.resolve("made"), "w8a8", "--no-scale-search");
        assertThat(run.exitCode()).as(run.errors()).isZero();
        assertThat(run.answers())
                .anyMatch(line -> line.matches("calibration: [\\d,]+ tokens of the built-in text"))
                .filteredOn(line -> line.startsWith("warning: "))
                .singleElement()
                .asString()
                .matches(
                        "warning: perplexity \\d{3}\\.\\d before quantising: the model does not know the built-in text,"
                                + " .*--calibration\\)");
    }

    @Test
    void theEmbeddedModelIsCalibratedOnATextOfItsOwn() {
        Path made = folder.resolve("made");
        CommandRun run = quantize(made, "w8a8", "--no-scale-search");
        assertThat(run.exitCode()).as(run.errors()).isZero();
        assertThat(run.answers())
                .anyMatch(
                        line -> line.matches("calibration: [\\d,]+ tokens of calibration.jsonl of the model's folder"))
                .noneMatch(line -> line.startsWith("warning: ") || line.startsWith("note: "));
        assertThat(made.resolve("calibration.jsonl")).doesNotExist();
    }

    @Test
    void theKernelsAreThoseThatAreAskedFor() throws IOException {
        Path text = Files.writeString(folder.resolve("text.jsonl"), "{\"text\": \"int sum = a + b;\"}\n".repeat(4));
        List<String> weights = new ArrayList<>();
        for (String threads : List.of("1", "3")) {
            Path made = folder.resolve("made-" + threads);
            CommandRun run = quantize(
                    made,
                    "w8a8",
                    "--calibration",
                    text.toString(),
                    "--provider",
                    "vector",
                    "--threads",
                    threads,
                    "--no-scale-search");
            assertThat(run.exitCode()).as(run.errors()).isZero();
            weights.add(String.join("\n", run.answers()));
        }
        assertThat(weights.getFirst()).isEqualTo(weights.getLast());
        try (Stream<Path> files = Files.list(folder.resolve("made-1"))) {
            assertThat(files)
                    .allSatisfy(file -> assertThat(file)
                            .hasSameBinaryContentAs(folder.resolve("made-3").resolve(file.getFileName())));
        }
    }

    @Test
    void whatCannotBeDoneIsSaidInASentence() {
        CommandRun profile = quantize(folder.resolve("out"), "w2a8");
        assertThat(profile.exitCode()).isEqualTo(2);
        assertThat(profile.errors())
                .contains("--profile: \"w2a8\" (expected: w8a8 or w4a8)")
                .hasLineCount(1);
        CommandRun text = quantize(
                folder.resolve("out"),
                "w8a8",
                "--calibration",
                folder.resolve("no").toString());
        assertThat(text.exitCode()).isEqualTo(1);
        assertThat(text.errors()).contains("no such file").hasLineCount(1);
        assertThat(folder.resolve("out")).doesNotExist();
    }

    @Test
    void aMisspeltOptionIsNamedAndNotOnlyTheOneThatIsMissing() {
        CommandRun run =
                CommandRun.of("", "quantize", "--out", folder.resolve("out").toString(), "--profil", "w8a8");
        assertThat(run.exitCode()).isEqualTo(2);
        assertThat(run.errors())
                .startsWith(
                        "millrace: --profil: unknown (expected: an option of millrace quantize; nearest is --profile)")
                .hasLineCount(1);
        CommandRun missing =
                CommandRun.of("", "quantize", "--out", folder.resolve("out").toString());
        assertThat(missing.exitCode()).isEqualTo(2);
        assertThat(missing.errors())
                .contains("Missing required option: '--profile=NAME'")
                .hasLineCount(1);
    }

    @Test
    void aPlaceWhereNothingCanBeMadeIsRefusedBeforeAnyWork() throws IOException {
        Path file = Files.writeString(folder.resolve("file"), "");
        CommandRun run = quantize(file.resolve("made"), "w8a8", "--calibration", "no");
        assertThat(run.exitCode()).isEqualTo(1);
        assertThat(run.errors())
                .contains(file.resolve("made") + ": " + file + " is not a folder")
                .hasLineCount(1);
    }

    private static CommandRun quantize(Path out, String profile, String... more) {
        return quantizeFrom(MINI, out, profile, more);
    }

    private static CommandRun quantizeFrom(Path model, Path out, String profile, String... more) {
        String[] args = new String[7 + more.length];
        List<String> start =
                List.of("quantize", "--model", model.toString(), "--out", out.toString(), "--profile", profile);
        for (int i = 0; i < start.size(); i++) {
            args[i] = start.get(i);
        }
        System.arraycopy(more, 0, args, start.size(), more.length);
        return CommandRun.of("", args);
    }
}
