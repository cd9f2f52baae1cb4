package io.millrace.standalone;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.engine.model.ModelPack;
import io.millrace.standalone.suite.ModelFolder;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/// `millrace synthesize` in the embedded model's shape.
class SynthesizeCommandTest {
    private static final Path MINI = Path.of(System.getProperty("millrace.root", ".."), "models", "mini");

    @TempDir
    private Path folder = Path.of("");

    private static CommandRun synthesize(Path config, Path out, String profile) {
        return CommandRun.of(
                "",
                "synthesize",
                "--config",
                config.toString(),
                "--out",
                out.toString(),
                "--profile",
                profile,
                "--tokenizer",
                MINI.toString());
    }

    @Test
    void writesAFolderThatServicesLoad() {
        Path out = folder.resolve("made");
        CommandRun run = synthesize(MINI.resolve("config.json"), out, "w4a8");
        assertThat(run.exitCode()).as(run.errors()).isZero();
        assertThat(run.answers())
                .singleElement()
                .asString()
                .startsWith(out + ": 9,712,416")
                .contains(" random weights, profile w4a8, ");
        ModelFolder.require(out);
        assertThat(out.resolve(ModelPack.FILE_NAME)).exists();
        CommandRun again = synthesize(MINI.resolve("config.json"), out, "w4a8");
        assertThat(again.exitCode()).isEqualTo(1);
        assertThat(again.errors()).contains(out + ": exists already").hasLineCount(1);
    }

    @Test
    void aMisspeltKeyOfTheConfigurationIsSaidInASentence() throws IOException {
        Path config = Files.writeString(
                folder.resolve("shape.json"),
                Files.readString(MINI.resolve("config.json"))
                        .replace("\"num_nextn_predict_layers\"", "\"num_nextn_predict_layer\""));
        Path out = folder.resolve("out");

        CommandRun run = synthesize(config, out, "bf16");

        assertThat(run.exitCode()).isEqualTo(1);
        assertThat(run.errors())
                .contains(config + ": num_nextn_predict_layer: unknown key (expected: num_nextn_predict_layers)")
                .hasLineCount(1);
        assertThat(out).doesNotExist();
    }

    @Test
    void whatCannotBeDoneIsSaidInASentence() throws IOException {
        Path out = folder.resolve("out");
        CommandRun profile = synthesize(MINI.resolve("config.json"), out, "checkpoint");
        assertThat(profile.exitCode()).isEqualTo(2);
        assertThat(profile.errors())
                .contains("--profile: \"checkpoint\" (expected: bf16, w8a8 or w4a8)")
                .hasLineCount(1);
        CommandRun config = synthesize(folder.resolve("no.json"), out, "bf16");
        assertThat(config.exitCode()).isEqualTo(1);
        assertThat(config.errors()).contains("no such file").hasLineCount(1);
        Path text = Files.writeString(folder.resolve("README.md"), "{}\n\n  # A title, and so on");
        assertThat(synthesize(text, out, "bf16").errors())
                .isEqualTo("millrace: " + text + ": invalid JSON: a character or word is out of place at line 3,"
                        + " column 3 (expected: one JSON object)\n");
        assertThat(out).doesNotExist();
    }
}
