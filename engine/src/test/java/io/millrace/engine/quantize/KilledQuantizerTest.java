package io.millrace.engine.quantize;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.millrace.engine.checkpoint.Checkpoint;
import io.millrace.engine.checkpoint.NewModelFolder;
import io.millrace.engine.checkpoint.UnfinishedFolder;
import io.millrace.engine.error.MillraceException;
import io.millrace.engine.model.LoadProgress;
import io.millrace.engine.model.LoadedModel;
import io.millrace.engine.settings.DsaSettings;
import io.millrace.engine.settings.EngineSettings;
import io.millrace.engine.settings.KernelSettings;
import io.millrace.engine.settings.KvSettings;
import io.millrace.engine.settings.WeightsSettings;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/// Quantising in a process that is killed: what it leaves does not load, and the next run removes it.
class KilledQuantizerTest {
    private static final EngineSettings SETTINGS = new EngineSettings(
            new KernelSettings("scalar", 1, null, null),
            DsaSettings.defaults(),
            KvSettings.defaults(),
            new WeightsSettings(0, null, WeightsSettings.OFF));

    @TempDir
    private Path folder = Path.of("");

    private Path source = Path.of("");
    private Path target = Path.of("");

    @BeforeEach
    void writeSource() throws IOException {
        source = QuantizeRun.source(folder.resolve("source"));
        target = Files.createDirectory(folder.resolve("out")).resolve("made");
    }

    @Test
    void whatAKilledRunLeavesDoesNotLoadAndIsRemoved() throws Exception {
        List<String> phases = phases();
        int firstWritten = phases.indexOf("writing") + 1;
        int lastWritten = phases.lastIndexOf("writing") + 1;
        int lastMeasured = phases.lastIndexOf("measuring") + 1;
        assertThat(lastMeasured).isGreaterThan(lastWritten).isEqualTo(phases.size());
        int[] steps = {
            1,
            firstWritten - 1,
            firstWritten,
            (firstWritten + lastWritten) / 2,
            lastWritten,
            lastWritten + 1,
            lastMeasured
        };
        for (int step : steps) {
            kill(step);
            assertThat(target).doesNotExist();
            for (Path left : left()) {
                assertDoesNotLoad(left);
            }
            // What the run before left is gone: a folder is begun before the first step.
            assertThat(left()).as("step " + step).hasSize(1);
        }
        QuantizeRun.run(source, target, QuantizeProgress.SILENT);
        assertThat(left()).containsExactly(target);
        assertLoads(target);
    }

    @Test
    void whereverItIsKilledAllThatLoadsIsFinished() throws Exception {
        Random random = new Random(20261130);
        for (int kill = 0; kill < 3; kill++) {
            Process process = QuantizeRun.start(source, target.resolveSibling("made" + kill), 0);
            assertThat(QuantizeRun.reached(process)).isTrue();
            // Folders now come one after the other: the moment is anywhere in the making of one.
            assertThat(process.waitFor(random.nextInt(400), TimeUnit.MILLISECONDS))
                    .isFalse();
            process.destroyForcibly().waitFor();
        }
        int finished = 0;
        for (Path left : left()) {
            if (left.getFileName().toString().startsWith("made") && Files.exists(left.resolve("config.json"))) {
                assertThat(left.resolve(ModelQuantizer.REPORT)).exists();
                assertLoads(left);
                finished++;
            } else {
                assertDoesNotLoad(left);
            }
        }
        assertThat(finished).isPositive();
    }

    @Test
    void aFolderThatAnotherRunIsMakingStays() throws Exception {
        Process process = QuantizeRun.start(source, target, phases().indexOf("writing") + 1);
        try {
            assertThat(QuantizeRun.reached(process)).isTrue();
            Path other = left().getFirst();
            NewModelFolder taken = new NewModelFolder(target);
            for (int attempt = 0; attempt < 2; attempt++) {
                assertThatThrownBy(() -> UnfinishedFolder.create(taken).close())
                        .isInstanceOf(MillraceException.class)
                        .hasMessage(target + ": another run is making it (expected: a folder that nobody else makes)");
                assertThat(left()).containsExactly(other);
            }
        } finally {
            process.destroyForcibly().waitFor();
        }
        UnfinishedFolder.create(new NewModelFolder(target)).close();
        assertThat(left()).isEmpty();
    }

    @Test
    void aSecondRunIsRefusedBeforeItsWork() throws Exception {
        Process process = QuantizeRun.start(source, target, 1);
        List<String> phases = new ArrayList<>();
        try {
            assertThat(QuantizeRun.reached(process)).isTrue();
            assertThatThrownBy(() -> QuantizeRun.run(source, target, (phase, done, total) -> phases.add(phase)))
                    .isInstanceOf(MillraceException.class)
                    .hasMessageStartingWith(target + ": another run is making it");
        } finally {
            process.destroyForcibly().waitFor();
        }
        assertThat(phases).isEmpty();
        QuantizeRun.run(source, target, QuantizeProgress.SILENT);
        assertLoads(target);
    }

    @Test
    void runsOfOneProcessRefuseEachOtherToo() throws IOException {
        NewModelFolder place = new NewModelFolder(target);
        try (UnfinishedFolder first = UnfinishedFolder.create(place)) {
            for (int attempt = 0; attempt < 2; attempt++) {
                assertThatThrownBy(() -> UnfinishedFolder.create(place).close())
                        .isInstanceOf(MillraceException.class)
                        .hasMessageStartingWith(target + ": another run is making it");
            }
            assertThat(left()).containsExactly(first.path());
        }
        assertThat(left()).isEmpty();
    }

    @Test
    void aFolderThatAppearsWhileItIsMadeIsNamed() throws IOException {
        Path file = target.resolve("mine");
        assertThatThrownBy(() -> QuantizeRun.run(source, target, (phase, done, total) -> {
                    if (phase.equals("writing")) {
                        try {
                            Files.createDirectories(target);
                            Files.writeString(file, "x");
                        } catch (IOException e) {
                            throw new UncheckedIOException(e);
                        }
                    }
                }))
                .isInstanceOf(MillraceException.class)
                .hasMessage(target + ": appeared while it was made (expected: a folder that nobody else makes)");
        assertThat(left()).containsExactly(target);
        assertThat(file).hasContent("x");
    }

    @Test
    void oneKilledBeforeTheLastRenamingIsNamed() throws IOException {
        Files.writeString(Files.createDirectory(target).resolve(UnfinishedFolder.CONFIG), "{}");
        assertDoesNotLoad(target);
        assertThatThrownBy(() -> QuantizeRun.run(source, target, QuantizeProgress.SILENT))
                .isInstanceOf(MillraceException.class)
                .hasMessage(target + ": left by a run that was killed before its last step (expected: a new folder)");
    }

    private List<String> phases() throws IOException {
        List<String> phases = new ArrayList<>();
        QuantizeRun.run(source, folder.resolve("counted"), (phase, done, total) -> phases.add(phase));
        return phases;
    }

    private void kill(int step) throws Exception {
        Process process = QuantizeRun.start(source, target, step);
        try {
            assertThat(QuantizeRun.reached(process)).isTrue();
        } finally {
            process.destroyForcibly().waitFor();
        }
    }

    private List<Path> left() throws IOException {
        try (Stream<Path> paths = Files.list(target.getParent())) {
            return paths.toList();
        }
    }

    private static void assertLoads(Path made) {
        LoadedModel.load(made, SETTINGS, LoadProgress.SILENT).close();
    }

    private static void assertDoesNotLoad(Path left) {
        assertThatThrownBy(() ->
                        LoadedModel.load(left, SETTINGS, LoadProgress.SILENT).close())
                .as(left.toString())
                .isInstanceOf(MillraceException.class);
        assertThatThrownBy(() -> Checkpoint.open(left).close()).isInstanceOf(MillraceException.class);
    }
}
