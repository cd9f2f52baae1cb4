package io.millrace.engine.file;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import io.millrace.engine.chat.ChatTemplate;
import io.millrace.engine.checkpoint.CheckpointIdentity;
import io.millrace.engine.checkpoint.GenerationDefaults;
import io.millrace.engine.checkpoint.ModelConfig;
import io.millrace.engine.checkpoint.TestCheckpoints;
import io.millrace.engine.error.MillraceException;
import io.millrace.engine.golden.GoldenFile;
import io.millrace.engine.model.LoadProgress;
import io.millrace.engine.model.ModelPack;
import io.millrace.engine.profile.WeightProfile;
import io.millrace.engine.quantize.CalibrationText;
import io.millrace.engine.quantize.ModelQuantizer;
import io.millrace.engine.quantize.QuantizeProgress;
import io.millrace.engine.quantize.QuantizeSettings;
import io.millrace.engine.settings.KernelSettings;
import io.millrace.engine.synthetic.SyntheticModel;
import io.millrace.engine.tokenizer.Tokenizer;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/// Named pipes, devices and folders where files of a model are expected: never waited for, never passed over.
class OddModelFilesTest {
    private static final Duration SOON = Duration.ofSeconds(20);

    @TempDir
    private Path folder = Path.of("");

    private Path model = Path.of("");

    private void modelWithout(String left) throws IOException {
        model = Files.createDirectory(folder.resolve("model"));
        for (String name : new String[] {
            "config.json",
            "tokenizer.json",
            "tokenizer_config.json",
            "chat_template.jinja",
            "generation_config.json",
            "model.safetensors"
        }) {
            if (!name.equals(left)) {
                Files.copy(TestCheckpoints.mini().resolve(name), model.resolve(name));
            }
        }
    }

    private static void put(String kind, Path file) throws IOException, InterruptedException {
        switch (kind) {
            case "pipe" -> NamedPipe.make(file);
            case "device" -> Files.createSymbolicLink(file, Path.of("/dev/zero"));
            case "folder" -> Files.createDirectory(file);
            default -> throw new IllegalArgumentException(kind);
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "config.json",
                "tokenizer.json",
                "tokenizer_config.json",
                "chat_template.jinja",
                "generation_config.json",
                "model.safetensors"
            })
    void inAModelFolderAreNamed(String name) throws IOException, InterruptedException {
        modelWithout(name);
        for (String kind : new String[] {"pipe", "device", "folder"}) {
            Path file = model.resolve(name);
            put(kind, file);
            assertRefused(file, () -> read(model));
            ModelQuantizer quantizer = new ModelQuantizer(
                    model, folder.resolve("made"), QuantizeSettings.of(WeightProfile.W8A8), QuantizeProgress.SILENT);
            if (!name.equals("model.safetensors")) {
                assertRefused(file, quantizer::require);
            }
            Files.delete(file);
        }
    }

    @Test
    void inPlaceOfAnIndexOrAShardAreNamed() throws IOException, InterruptedException {
        modelWithout("model.safetensors");
        Path index = model.resolve("model.safetensors.index.json");
        NamedPipe.make(index);
        assertRefused(index, () -> read(model));
        Files.delete(index);
        Files.writeString(index, "{\"weight_map\": {\"a\": \"shard.safetensors\"}}");
        NamedPipe.make(model.resolve("shard.safetensors"));
        assertRefused(model.resolve("shard.safetensors"), () -> read(model));
    }

    @Test
    void inPlaceOfAnOwnPackAreNamed() throws IOException, InterruptedException {
        modelWithout("model.safetensors");
        NamedPipe.make(model.resolve(ModelPack.FILE_NAME));
        assertRefused(model.resolve(ModelPack.FILE_NAME), () -> read(model));
    }

    @ParameterizedTest
    @ValueSource(strings = {"pipe", "device", "folder"})
    void namedByAUserAreRefused(String kind) throws IOException, InterruptedException {
        Path file = folder.resolve("odd");
        put(kind, file);
        assertRefused(file, () -> ModelConfig.readFile(file));
        assertRefused(file, () -> GoldenFile.open(file).close());
        assertRefused(file, () -> CalibrationText.read(TestCheckpoints.mini(), 4096, file));
        SyntheticModel shape = new SyntheticModel(
                file, WeightProfile.BF16, TestCheckpoints.mini(), new KernelSettings("scalar", 1, null, null), 1);
        assertRefused(file, () -> shape.write(folder.resolve("made"), LoadProgress.SILENT));
    }

    private static void read(Path model) {
        ModelConfig config = ModelPack.inspect(model);
        CheckpointIdentity.of(model);
        GenerationDefaults.read(model);
        Tokenizer.load(model).close();
        ChatTemplate.load(model);
        assertThat(config.layers()).isPositive();
    }

    private static void assertRefused(Path file, ThrowingCallable reader) {
        assertTimeoutPreemptively(
                SOON,
                () -> assertThatExceptionOfType(MillraceException.class)
                        .isThrownBy(reader)
                        .withMessageStartingWith(file.toString())
                        .withMessageContaining("not a regular file"));
    }
}
