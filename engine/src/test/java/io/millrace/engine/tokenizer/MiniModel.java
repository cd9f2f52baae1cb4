package io.millrace.engine.tokenizer;

import java.nio.file.Path;

/// Where the embedded model lies.
final class MiniModel {
    private MiniModel() {}

    static Path directory() {
        return Path.of(System.getProperty("millrace.root", ".."), "models", "mini");
    }
}
