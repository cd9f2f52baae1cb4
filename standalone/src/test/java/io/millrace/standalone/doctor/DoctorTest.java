package io.millrace.standalone.doctor;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpServer;
import io.millrace.kernels.KernelCheck;
import io.millrace.kernels.nativecode.NativeKernels;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/// Breaks one thing at a time: its line says FAIL, the others stay as they are.
class DoctorTest {
    private static final List<String> SUBJECTS =
            List.of("machine", "jdk", "kernels", "model", "tokenizer", "template", "port");

    @TempDir
    Path folder;

    private Path model = Path.of("");
    private int port;

    @BeforeEach
    void copyModel() throws IOException {
        model = Files.createDirectory(folder.resolve("model"));
        Path mini = Path.of(System.getProperty("millrace.root", ".."), "models", "mini");
        for (String name : List.of(
                "config.json",
                "generation_config.json",
                "tokenizer.json",
                "chat_template.jinja",
                "model.safetensors")) {
            Files.copy(mini.resolve(name), model.resolve(name));
        }
        try (ServerSocket free = new ServerSocket(0)) {
            port = free.getLocalPort();
        }
    }

    @Test
    void findsNothingWrongWithASoundMachine() {
        List<Finding> findings = examine(Machine.sound(folder), "auto", port);
        assertThat(findings).extracting(Finding::subject).isEqualTo(SUBJECTS);
        assertThat(findings).allSatisfy(finding -> {
            assertThat(finding.ok()).as(finding.line()).isTrue();
            assertThat(finding.line()).startsWith("ok ").endsWith(".").doesNotContain("\n");
        });
        assertThat(findings.get(SUBJECTS.indexOf("kernels")).line())
                .startsWith("ok    kernels    Provider native ("
                        + NativeKernels.levels().getLast().id() + ")")
                .doesNotContain("ascend");
    }

    @Test
    void theRunningProcessCanBeExamined() {
        Surroundings here = Surroundings.ofThisProcess();
        assertThat(examine(here, "auto", port)).extracting(Finding::subject).isEqualTo(SUBJECTS);
        assertThat(here.javaFeature()).isGreaterThanOrEqualTo(25);
        assertThat(here.vectorModule()).isTrue();
        assertThat(here.jvmArguments()).contains("-Xbatch");
    }

    @Test
    void aMachineThatCannotRunMillraceShows() throws IOException {
        Machine sound = Machine.sound(folder);
        expectOnly("machine", "big-endian", sound.bigEndian(), "auto", port);
        expectOnly("machine", "64 MiB of heap", sound.withHeap(64 << 20), "auto", port);
        Path file = Files.writeString(folder.resolve("file"), "");
        expectOnly("machine", file.toString(), sound.withTemporaryFolder(file), "auto", port);
    }

    @Test
    void aJvmThatIsTooOldOrWrongStartedShows() {
        Machine sound = Machine.sound(folder);
        expectOnly("jdk", "is too old", sound.withJava(21), "auto", port);
        expectOnly("jdk", "without --add-modules jdk.incubator.vector,", sound.withoutVectorModule(), "auto", port);
        expectOnly("jdk", "without -Xbatch,", sound.withoutArguments(), "auto", port);
    }

    @Test
    void aKernelProviderThatDeclinesShows() {
        expectOnly("kernels", "(expected: auto", Machine.sound(folder), "abacus", port);
        expectOnly("kernels", "ascend", Machine.sound(folder), "ascend", port);
        expectOnly("kernels", "(expected: auto, scalar, vector or native)", Machine.sound(folder), "ascend", port);
    }

    @Test
    void aKernelBelowItsFloorShows() {
        KernelCheck sound = new KernelCheck("f32-rows", 20, 4, KernelCheck.Verdict.AT_SPEED);
        KernelCheck slow = new KernelCheck("int8-rows", 0.5, 2, KernelCheck.Verdict.BELOW_FLOOR);
        assertThat(Doctor.speed("Provider vector", List.of(sound)).line())
                .isEqualTo("ok    kernels    Provider vector; 1 kernels are compiled as they should be.");
        assertThat(Doctor.speed("Provider vector", List.of(sound, slow)).line())
                .startsWith("FAIL  kernels")
                .contains("[int8-rows 0.50 of 2.00 (BELOW ITS FLOOR)]")
                .doesNotContain("f32-rows");
        assertThat(Doctor.speed("Provider scalar", List.of()).ok()).isTrue();
    }

    @Test
    void damagedModelFilesShow() throws IOException {
        breakAndRestore("model.safetensors", "cut off", "model", "model.safetensors");
        breakAndRestore("config.json", "{}", "model", "config.json");
        breakAndRestore("generation_config.json", "{\"temperature\": \"hot\"}", "model", "temperature");
        breakAndRestore("tokenizer.json", "{}", "tokenizer", "tokenizer.json");
        breakAndRestore("chat_template.jinja", "{% frobnicate %}", "template", "frobnicate");
    }

    @Test
    void aModelFolderThatIsNotThereShows() {
        List<Finding> findings = new Doctor(Machine.sound(folder).surroundings())
                .examine(folder.resolve("nowhere"), new AskedKernels("auto", Optional.empty(), 0), port);
        assertThat(findings)
                .filteredOn(finding -> !finding.ok())
                .extracting(Finding::subject)
                .containsExactly("model", "tokenizer", "template");
    }

    @Test
    void aModelWithoutATemplateIsSoundButAFolderWithoutAModelIsNot() throws IOException {
        Files.delete(model.resolve("chat_template.jinja"));
        assertThat(template()).matches("ok +template +The model has no chat template.*");
        Files.delete(model.resolve("config.json"));
        assertThat(template()).matches("FAIL +template +There is no chat template, as there is no model in .*");
    }

    private String template() {
        return examine(Machine.sound(folder), "auto", port).stream()
                .filter(finding -> finding.subject().equals("template"))
                .map(Finding::line)
                .findFirst()
                .orElse("");
    }

    @Test
    void aTokenizerOfAnotherModelShows() throws IOException {
        Path file = model.resolve("tokenizer.json");
        String text = Files.readString(file);
        Files.writeString(file, text.replace("\"id\": 4095", "\"id\": 4096").replace("\"id\":4095", "\"id\":4096"));
        expectOnly("tokenizer", "up to 4096, the model only up to 4095", Machine.sound(folder), "auto", port);
    }

    @Test
    void aPortInUseOrOutOfRangeShows() throws IOException {
        try (ServerSocket taken = new ServerSocket(0)) {
            expectOnly("port", "choose another", Machine.sound(folder), "auto", taken.getLocalPort());
        }
        expectOnly("port", "0..65535", Machine.sound(folder), "auto", 65_536);
        expectOnly("port", "0..65535", Machine.sound(folder), "auto", -1);
    }

    @Test
    void aPortThatMillraceServesOnIsSound() throws IOException {
        assertThat(portLine("{\"data\": [{\"id\": \"glm\", \"owned_by\": \"millrace\"}]}"))
                .matches("ok +port +Port \\d+ is in use by Millrace, which serves glm there; .*\\.");
        assertThat(portLine("{\"data\": [{\"id\": \"glm\", \"owned_by\": \"others\"}]}"))
                .startsWith("FAIL ")
                .contains("choose another");
        assertThat(portLine("<html>")).startsWith("FAIL ").contains("choose another");
    }

    /// What is said of a port whose owner answers every request so.
    private String portLine(String answer) throws IOException {
        byte[] bytes = answer.getBytes(StandardCharsets.UTF_8);
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/", exchange -> {
            exchange.sendResponseHeaders(200, bytes.length);
            exchange.getResponseBody().write(bytes);
            exchange.close();
        });
        server.start();
        try {
            return examine(Machine.sound(folder), "auto", server.getAddress().getPort())
                    .getLast()
                    .line();
        } finally {
            server.stop(0);
        }
    }

    private void breakAndRestore(String name, String content, String subject, String said) throws IOException {
        Path file = model.resolve(name);
        byte[] sound = Files.readAllBytes(file);
        Files.writeString(file, content);
        expectOnly(subject, said, Machine.sound(folder), "auto", port);
        Files.write(file, sound);
    }

    private void expectOnly(String subject, String said, Machine machine, String provider, int onPort) {
        for (Finding finding : examine(machine, provider, onPort)) {
            assertThat(finding.ok())
                    .as(finding.line())
                    .isEqualTo(!finding.subject().equals(subject));
            if (!finding.ok()) {
                assertThat(finding.line()).startsWith("FAIL ").contains(said);
            }
        }
    }

    private List<Finding> examine(Machine machine, String provider, int onPort) {
        return examine(machine.surroundings(), provider, onPort);
    }

    private List<Finding> examine(Surroundings surroundings, String provider, int onPort) {
        return new Doctor(surroundings).examine(model, new AskedKernels(provider, Optional.empty(), 0), onPort);
    }

    /// A sound machine, and ways to break it.
    private record Machine(Surroundings surroundings) {
        static Machine sound(Path temporaryFolder) {
            return new Machine(new Surroundings(
                    "Linux amd64",
                    true,
                    2,
                    8L << 30,
                    2L << 30,
                    temporaryFolder,
                    25,
                    "25 in /jdk",
                    true,
                    List.of("-Xbatch", "-Xmx2g")));
        }

        Machine bigEndian() {
            return with(false, surroundings.maxHeapBytes(), surroundings.temporaryFolder());
        }

        Machine withHeap(long maxHeapBytes) {
            return with(true, maxHeapBytes, surroundings.temporaryFolder());
        }

        Machine withTemporaryFolder(Path temporaryFolder) {
            return with(true, surroundings.maxHeapBytes(), temporaryFolder);
        }

        Machine withJava(int feature) {
            return withJvm(feature, true, surroundings.jvmArguments());
        }

        Machine withoutVectorModule() {
            return withJvm(25, false, surroundings.jvmArguments());
        }

        Machine withoutArguments() {
            return withJvm(25, true, List.of());
        }

        private Machine with(boolean littleEndian, long maxHeapBytes, Path temporaryFolder) {
            return new Machine(new Surroundings(
                    surroundings.system(),
                    littleEndian,
                    2,
                    surroundings.memoryBytes(),
                    maxHeapBytes,
                    temporaryFolder,
                    25,
                    surroundings.java(),
                    true,
                    surroundings.jvmArguments()));
        }

        private Machine withJvm(int feature, boolean vectorModule, List<String> arguments) {
            return new Machine(new Surroundings(
                    surroundings.system(),
                    true,
                    2,
                    surroundings.memoryBytes(),
                    surroundings.maxHeapBytes(),
                    surroundings.temporaryFolder(),
                    feature,
                    feature + " in /jdk",
                    vectorModule,
                    arguments));
        }
    }
}
