package io.millrace.engine.checkpoint;

import java.nio.file.Path;
import java.util.Objects;

/// Where the checkpoints of the repository lie.
public final class TestCheckpoints {
    private TestCheckpoints() {}

    /// The repository.
    public static Path root() {
        return Path.of(Objects.requireNonNull(System.getProperty("millrace.root"), "system property millrace.root"));
    }

    /// A folder of golden vectors with its tiny checkpoint.
    public static Path golden(String name) {
        return root().resolve("engine/src/test/resources/golden").resolve(name);
    }

    /// The trained mini model.
    public static Path mini() {
        return root().resolve("models/mini");
    }
}
