package io.millrace.engine.pack;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PackSweepTest {
    @TempDir
    private Path folder = Path.of("");

    @Test
    void whatAKilledProcessOfTheSameNumberLeftIsRemoved() throws IOException {
        String number = "." + ProcessHandle.current().pid() + ".";
        Files.writeString(folder.resolve(".a.pack" + number + "5f0c.tmp"), "left");
        try (PackWriter writer = PackWriter.create(folder.resolve("a.pack"))) {
            assertThat(files()).hasSize(2);
            PackSweep.run(folder, ".pack");
            assertThat(files()).singleElement().asString().contains(".a.pack" + number);
            Files.writeString(folder.resolve(".a.pack" + number + "5f0c.tmp"), "left");
            PackSweep.abandoned(folder.resolve("a.pack"));
            assertThat(files()).hasSize(1);
            assertThat(writer).isNotNull();
        }
        assertThat(files()).isEmpty();
    }

    private List<Path> files() throws IOException {
        try (Stream<Path> paths = Files.list(folder)) {
            return paths.toList();
        }
    }
}
