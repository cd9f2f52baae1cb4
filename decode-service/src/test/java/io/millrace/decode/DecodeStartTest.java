package io.millrace.decode;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class DecodeStartTest {
    private static final Path MINI = Path.of(System.getProperty("millrace.root", ".."), "models", "mini");

    @TempDir
    private Path folder = Path.of("");

    /// Packing is what takes long; there is no pack.
    @Test
    void aBrokenTokenizerIsToldBeforeWeightsAreRead() throws IOException {
        Path model = Files.createDirectory(folder.resolve("model"));
        for (String name : List.of("config.json", "model.safetensors")) {
            Files.copy(MINI.resolve(name), model.resolve(name));
        }
        Files.writeString(model.resolve("tokenizer.json"), "");
        Path packs = folder.resolve("packs");
        assertThatThrownBy(() -> DecodeApplication.builder()
                        .run(
                                "--server.port=0",
                                "--spring.grpc.server.port=0",
                                "--millrace.model.path=" + model,
                                "--millrace.weights.pack-dir=" + packs)
                        .close())
                .hasStackTraceContaining("tokenizer.json");
        assertThat(packs).doesNotExist();
    }
}
