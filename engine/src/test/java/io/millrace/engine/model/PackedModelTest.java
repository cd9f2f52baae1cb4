package io.millrace.engine.model;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ch.qos.logback.classic.spi.ILoggingEvent;
import io.millrace.engine.checkpoint.ModelConfig;
import io.millrace.engine.file.NamedPipe;
import io.millrace.engine.logging.RecordedLog;
import io.millrace.engine.pack.PackCache;
import io.millrace.engine.pack.PackDirectory;
import io.millrace.engine.pack.PackPlan;
import io.millrace.engine.pack.PackRequest;
import io.millrace.engine.pack.PackedWeights;
import io.millrace.engine.profile.WeightProfile;
import io.millrace.kernels.Kernels;
import io.millrace.kernels.MlaForm;
import io.millrace.kernels.scalar.ScalarKernels;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileTime;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/// A model of packed weights: the pack is made once, used by whoever starts next, and never trusted.
class PackedModelTest {
    private static final String SUFFIX = ".millrace";

    @TempDir
    Path folder;

    private Path packs;
    private Path model;

    @BeforeEach
    void copyModel() {
        packs = folder.resolve("packs");
        model = PackRun.copy("glm5-tiny", folder.resolve("model"));
    }

    private LoadedModel load(String where, String provider, WeightProfile profile, LoadProgress progress) {
        return LoadedModel.load(model, PackRun.settings(where, provider, profile), progress);
    }

    private LoadedModel load(WeightProfile profile) {
        return load(packs.toString(), "scalar", profile, LoadProgress.SILENT);
    }

    /// Loads, and says whether something was packed.
    private boolean packs(String provider, WeightProfile profile) {
        int[] calls = new int[1];
        try (LoadedModel loaded = load(packs.toString(), provider, profile, (what, done, total) -> calls[0]++)) {
            assertThat(loaded.packFile()).isPresent();
        }
        return calls[0] > 0;
    }

    private Path onlyPack() {
        assertThat(PackRun.files(packs, SUFFIX)).hasSize(1);
        return PackRun.files(packs, SUFFIX).getFirst();
    }

    @ParameterizedTest
    @EnumSource
    void aWarmStartEqualsAColdOneAndOneInMemory(WeightProfile profile) throws IOException {
        try (LoadedModel memory = load("off", "scalar", profile, LoadProgress.SILENT);
                LoadedModel cold = load(profile)) {
            byte[] pack = Files.readAllBytes(onlyPack());
            LoadProgress fails = (what, done, total) -> {
                throw new AssertionError("packed " + what + " again");
            };
            try (LoadedModel warm = load(packs.toString(), "scalar", profile, fails)) {
                List<float[]> expected = PackRun.logits(memory);
                assertThat(PackRun.logits(cold)).containsExactlyElementsOf(expected);
                assertThat(PackRun.logits(warm)).containsExactlyElementsOf(expected);
                assertThat(warm.weightsDigest())
                        .isEqualTo(memory.weightsDigest())
                        .isEqualTo(cold.weightsDigest());
                assertThat(warm.numericsId()).isEqualTo(memory.numericsId()).contains(";profile=" + profile.id() + ";");
                assertThat(warm.tensorBytes()).isEqualTo(memory.tensorBytes());
                assertThat(memory.packFile()).isEmpty();
                assertThat(warm.packFile()).contains(onlyPack());
            }
            assertThat(onlyPack()).hasBinaryContent(pack);
        }
    }

    @Test
    void anotherStartMakesTheSameFile() throws IOException {
        assertThat(packs("scalar", WeightProfile.W4A8)).isTrue();
        byte[] pack = Files.readAllBytes(onlyPack());
        Files.delete(onlyPack());
        assertThat(packs("scalar", WeightProfile.W4A8)).isTrue();
        assertThat(onlyPack()).hasBinaryContent(pack);
    }

    @Test
    void aDamagedPackIsMadeAnew() throws IOException {
        assertThat(packs("scalar", WeightProfile.W8A8)).isTrue();
        Path pack = onlyPack();
        byte[] sound = Files.readAllBytes(pack);
        List<byte[]> damaged = new ArrayList<>();
        for (int length : new int[] {0, 48, sound.length / 2, sound.length - 1}) {
            damaged.add(java.util.Arrays.copyOf(sound, length));
        }
        damaged.add(java.util.Arrays.copyOf(sound, sound.length + 1));
        damaged.add("not a pack at all".repeat(1000).getBytes(java.nio.charset.StandardCharsets.UTF_8));
        // magic, version, checksum of the header; content; index
        for (int at : new int[] {0, 8, 44, 5000, sound.length / 2, sound.length - 9}) {
            byte[] flipped = sound.clone();
            flipped[at] ^= 0x10;
            damaged.add(flipped);
        }
        for (int i = 0; i < damaged.size(); i++) {
            // Beside it and renamed: a file that somebody has mapped is not cut short.
            Path other = folder.resolve("damaged");
            Files.write(other, damaged.get(i));
            Files.move(other, pack, StandardCopyOption.REPLACE_EXISTING);
            assertThat(packs("scalar", WeightProfile.W8A8)).as("case " + i).isTrue();
            assertThat(pack).hasBinaryContent(sound);
            assertThat(packs("scalar", WeightProfile.W8A8)).isFalse();
        }
    }

    @Test
    @DisabledOnOs(value = OS.WINDOWS, disabledReason = "named pipes need mkfifo")
    @Timeout(value = 60, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
    void aPipeInThePlaceOfThePackIsReplaced() throws IOException, InterruptedException {
        assertThat(packs("scalar", WeightProfile.W8A8)).isTrue();
        Path pack = onlyPack();
        Files.delete(pack);
        NamedPipe.make(pack);
        assertThat(packs("scalar", WeightProfile.W8A8)).isTrue();
        assertThat(pack).isRegularFile();
        assertThat(packs("scalar", WeightProfile.W8A8)).isFalse();
    }

    @Test
    void aFolderInThePlaceOfThePackIsNamed() throws IOException {
        load(WeightProfile.BF16).close();
        Path pack = onlyPack();
        Files.delete(pack);
        Files.createDirectory(pack);
        assertThatThrownBy(() -> load(WeightProfile.BF16))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("millrace.weights.pack-dir: " + packs + ": cannot be used: a folder stands where its file "
                        + pack.getFileName()
                        + " belongs (expected: a folder that can be written and has room, or off)");
    }

    @Test
    void aLockThatCannotBeOpenedKeepsNobodyFromPacking() throws IOException {
        assertThat(packs("scalar", WeightProfile.W8A8)).isTrue();
        Path pack = onlyPack();
        Path lock = pack.resolveSibling(pack.getFileName() + ".lock");
        Files.delete(pack);
        assertThat(lock).doesNotExist();
        Files.createDirectory(lock);
        assertThat(packs("scalar", WeightProfile.W8A8)).isTrue();
        assertThat(packs("scalar", WeightProfile.W8A8)).isFalse();
    }

    @Test
    void packsOfOtherProfilesAndProvidersAreNotUsed() throws IOException {
        assertThat(packs("scalar", WeightProfile.CHECKPOINT)).isTrue();
        Path scalar = onlyPack();
        byte[] expected = Files.readAllBytes(scalar);
        assertThat(packs("scalar", WeightProfile.BF16)).isTrue();
        assertThat(packs("vector", WeightProfile.CHECKPOINT)).isTrue();
        assertThat(PackRun.files(packs, SUFFIX)).hasSize(3);
        for (Path other : PackRun.files(packs, SUFFIX)) {
            if (!other.equals(scalar)) {
                Files.copy(other, folder.resolve("other"), StandardCopyOption.REPLACE_EXISTING);
                Files.move(folder.resolve("other"), scalar, StandardCopyOption.REPLACE_EXISTING);
                assertThat(packs("scalar", WeightProfile.CHECKPOINT)).isTrue();
                assertThat(scalar).hasBinaryContent(expected);
            }
        }
        assertThat(packs("vector", WeightProfile.CHECKPOINT)).isFalse();
    }

    @Test
    void aChangedCheckpointTakesThePlaceOfItsFormerPack() throws IOException {
        assertThat(packs("scalar", WeightProfile.W8A8)).isTrue();
        Path weights = model.resolve("model.safetensors");
        byte[] digest;
        try (LoadedModel before = load(WeightProfile.W8A8)) {
            digest = before.weightsDigest();
        }
        byte[] bytes = Files.readAllBytes(weights);
        bytes[bytes.length - 1] ^= 1;
        Files.write(weights, bytes);
        Files.setLastModifiedTime(weights, FileTime.fromMillis(1_700_000_000_000L));
        assertThat(packs("scalar", WeightProfile.W8A8)).isTrue();
        onlyPack();
        try (LoadedModel after = load(WeightProfile.W8A8)) {
            assertThat(after.weightsDigest()).isNotEqualTo(digest);
        }
        Files.writeString(model.resolve("config.json"), Files.readString(model.resolve("config.json")) + "\n");
        assertThat(packs("scalar", WeightProfile.W8A8)).isTrue();
        onlyPack();
    }

    @Test
    void packsOfModelsThatAreGoneAreRemoved() throws IOException {
        assertThat(packs("scalar", WeightProfile.BF16)).isTrue();
        Path former = onlyPack();
        model = Files.move(model, folder.resolve("renamed"));
        assertThat(packs("scalar", WeightProfile.BF16)).isTrue();
        assertThat(onlyPack()).isNotEqualTo(former);
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void theCheckpointIsNotMappedAnyMore() throws IOException {
        try (LoadedModel loaded = load(WeightProfile.BF16)) {
            String maps = Files.readString(Path.of("/proc/self/maps"));
            assertThat(maps).contains(loaded.packFile().orElseThrow().toString());
            assertThat(maps).doesNotContain(model.toString());
            assertThat(maps.lines().filter(line -> line.contains(packs.toString())))
                    .allMatch(line -> line.contains(" r--s "));
        }
        assertThat(Files.readString(Path.of("/proc/self/maps"))).doesNotContain(packs.toString());
    }

    @Test
    void aKilledStartLeavesNothingThatLoads() throws IOException, InterruptedException {
        Process process = PackRun.start(PackRun.STUCK, model, packs);
        try {
            assertThat(PackRun.word(process)).isEqualTo(PackRun.STUCK);
        } finally {
            process.destroyForcibly().waitFor();
        }
        assertThat(PackRun.files(packs, SUFFIX)).isEmpty();
        Path left = PackRun.files(packs, ".tmp").getFirst();
        // not even under its final name
        assertThatThrownBy(() -> PackCache.profileOf(left)).hasMessageContaining(left.toString());
        assertThat(packs("scalar", WeightProfile.W8A8)).isTrue();
        assertThat(PackRun.files(packs, ".tmp")).isEmpty();
        assertThat(packs("scalar", WeightProfile.W8A8)).isFalse();
    }

    @Test
    void twoProcessesThatStartTogetherPackOnce() throws IOException, InterruptedException {
        List<Process> processes = List.of(PackRun.start("load", model, packs), PackRun.start("load", model, packs));
        List<String> words = new ArrayList<>();
        for (Process process : processes) {
            words.add(PackRun.word(process));
            assertThat(process.waitFor()).isZero();
        }
        assertThat(words)
                .containsExactlyInAnyOrder(
                        PackRun.LOADED + "true " + onlyPack(), PackRun.LOADED + "false " + onlyPack());
        assertThat(PackRun.files(packs, ".tmp")).isEmpty();
    }

    @Test
    void threadsThatStartTogetherPackOnce() throws Exception {
        try (ExecutorService executor = Executors.newFixedThreadPool(3)) {
            Callable<Boolean> start = () -> packs("scalar", WeightProfile.W8A8);
            int packed = 0;
            for (Future<Boolean> future : executor.invokeAll(List.of(start, start, start))) {
                packed += future.get() ? 1 : 0;
            }
            assertThat(packed).isOne();
        }
    }

    @Test
    void aConfiguredFolderThatCannotBeWrittenIsRefused() throws IOException {
        packs = Files.writeString(folder.resolve("file"), "no folder");
        try (RecordedLog log = new RecordedLog(PackCache.class.getName())) {
            assertThatThrownBy(() -> load(WeightProfile.BF16))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("millrace.weights.pack-dir: " + packs + ": not a folder")
                    .hasMessageContaining("or off")
                    .hasMessageNotContaining("Exception");
            assertThat(log.lines()).isEmpty();
        }
        packs = Path.of("/proc/millrace-packs");
        assertThatThrownBy(() -> load(WeightProfile.BF16))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("millrace.weights.pack-dir: " + packs + ": cannot be ")
                .hasMessageContaining("or off")
                .hasMessageNotContaining("Exception");
    }

    @Test
    void aDefaultFolderThatCannotBeWrittenIsPassedOver() throws IOException {
        Path noFolder = Files.writeString(folder.resolve("file"), "no folder");
        try (RecordedLog log = new RecordedLog(PackCache.class.getName());
                Kernels kernels = new ScalarKernels()) {
            PackPlan plan = ModelPack.plan(ModelConfig.read(model), WeightProfile.BF16, MlaForm.ABSORBED);
            PackRequest request = new PackRequest(model, WeightProfile.BF16, MlaForm.ABSORBED, plan, kernels, 1);
            try (PackedWeights weights = new PackCache(new PackDirectory(noFolder, false))
                    .obtain(request, () -> CheckpointTensors.open(model), (what, done, total) -> {})) {
                assertThat(weights.file()).isEmpty();
                assertThat(weights.tensorBytes()).containsKey("lm_head.weight");
            }
            assertThat(log.lines())
                    .extracting(ILoggingEvent::getFormattedMessage)
                    .containsExactly(noFolder + " cannot keep packed weights, packing into memory: not a folder");
        }
    }

    @Test
    void aCheckpointThatCannotBeReadLeavesNothing() throws IOException {
        try (FileChannel weights = FileChannel.open(model.resolve("model.safetensors"), StandardOpenOption.WRITE)) {
            weights.truncate(weights.size() - 1);
        }
        assertThatThrownBy(() -> load(WeightProfile.BF16)).hasMessageContaining("model.safetensors");
        assertThat(PackRun.files(packs, SUFFIX)).isEmpty();
        assertThat(PackRun.files(packs, ".tmp")).isEmpty();
    }
}
