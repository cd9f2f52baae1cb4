package io.millrace.standalone;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.standalone.command.Console;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/// The real `millrace` script in a project whose Maven and Java only say what they were asked.
@DisabledOnOs(value = OS.WINDOWS, disabledReason = "the script needs bash")
class MillraceScriptTest {

    /// What a call of the script came to.
    private record Outcome(int exitCode, List<String> lines) {}

    @TempDir
    Path folder;

    private Path project = Path.of("");
    private Path jdk = Path.of("");
    private final Map<String, String> environment = new HashMap<>();

    @BeforeEach
    void layOut() throws IOException {
        Path root = Path.of(System.getProperty("millrace.root", ".."));
        project = Files.createDirectories(folder.resolve("a project"));
        Files.createDirectories(project.resolve(".mvn"));
        Files.copy(root.resolve(".mvn/find-jdk.sh"), project.resolve(".mvn/find-jdk.sh"));
        script(project.resolve("millrace"), Files.readString(root.resolve("millrace")));
        Files.writeString(project.resolve("pom.xml"), "<project/>\n");
        Path source =
                Files.createDirectories(project.resolve("engine/src/main/java")).resolve("A.java");
        Files.writeString(source, "");
        age(project.resolve("pom.xml"));
        age(source);
        script(project.resolve("mvnw"), """
                #!/bin/sh
                echo "$@" >> builds
                echo "[INFO] Scanning for projects..."
                echo "[INFO] Building Millrace kernels 1.0-SNAPSHOT                      [2/9]"
                echo "[INFO] Building jar: /somewhere/a.jar"
                echo "[WARNING] never mind"
                [ ! -f broken ] || { echo "[ERROR] A.java:1 is broken"; exit 1; }
                mkdir -p standalone/target
                touch standalone/target/millrace-standalone-1.jar
                """);
        jdk = folder.resolve("jdk");
        Files.createDirectories(jdk.resolve("bin"));
        script(jdk.resolve("bin/java"), "#!/bin/sh\nprintf '%s\\n' \"$@\"\nexit 3\n");
        script(jdk.resolve("bin/javac"), "#!/bin/sh\n");
        Files.writeString(jdk.resolve("release"), "JAVA_VERSION=\"25.0.1\"\n");
    }

    @Test
    void buildsOnceAndHandsOverFlagsArgumentsAndExitCode() throws Exception {
        Outcome first = run(project.resolve("millrace"), "verify", "--model", "with space");
        assertThat(first.exitCode()).isEqualTo(3);
        assertThat(first.lines().subList(0, 3))
                .satisfiesExactly(
                        line -> assertThat(line).startsWith("millrace: building Millrace once, about "),
                        line -> assertThat(line).isEqualTo("millrace: building 2/9: Millrace kernels"),
                        line -> assertThat(line).isEqualTo(sharedFlags()));
        assertThat(first.lines())
                .containsSubsequence(
                        sharedFlags(),
                        "-Dmillrace.home=" + project.toRealPath(),
                        "-cp",
                        project.toRealPath()
                                .resolve("standalone/target/millrace-standalone-1.jar")
                                .toString(),
                        "io.millrace.standalone.MillraceCommand",
                        "verify",
                        "--model",
                        "with space");
        Outcome second = run(project.resolve("millrace"), "doctor");
        assertThat(second.lines().getFirst()).isEqualTo(sharedFlags());
        assertThat(builds()).hasSize(1);
        assertThat(builds().getFirst()).contains("-DskipTests", "package");
    }

    private String sharedFlags() throws IOException {
        return "@" + project.toRealPath().resolve("java.args");
    }

    @Test
    void saysNothingOfABuildWhereOnlyTheAnswerIsAskedFor() throws Exception {
        Outcome outcome = run(project.resolve("millrace"), "demo", "--once", "--quiet");
        assertThat(builds()).hasSize(1);
        assertThat(outcome.lines()).noneMatch(line -> line.startsWith("millrace: ") || line.startsWith("["));
        Files.writeString(project.resolve("broken"), "");
        Files.delete(project.resolve("standalone/target/millrace-standalone-1.jar"));
        assertThat(run(project.resolve("millrace"), "demo", "--quiet").lines())
                .containsExactly("[ERROR] A.java:1 is broken", "millrace: the build failed, see above");
    }

    @Test
    void preparesQuickStartsOnceForCommandsThatServe() throws Exception {
        script(jdk.resolve("bin/java"), """
                #!/bin/sh
                for argument; do
                  case $argument in
                  -XX:AOTCacheOutput=*) echo cache > "${argument#*=}"; exit 0 ;;
                  esac
                done
                printf '%s\\n' "$@"
                """);
        assertThat(run(project.resolve("millrace"), "verify").lines())
                .noneMatch(line -> line.startsWith("-XX:AOTCache") || line.contains("preparing"));
        Outcome first = run(project.resolve("millrace"), "up", "--port", "0");
        assertThat(first.lines().getFirst()).contains("preparing quick starts");
        assertThat(first.lines()).anyMatch(line -> line.startsWith("-XX:AOTCache="));
        Outcome second = run(project.resolve("millrace"), "up");
        assertThat(second.lines().getFirst()).isEqualTo(sharedFlags());
        assertThat(second.lines()).anyMatch(line -> line.startsWith("-XX:AOTCache="));
    }

    /// They load no kernels, and their classes come from an archive that a first run leaves behind.
    @Test
    void commandsThatComputeNothingGetAJvmThatIsQuickToStart() throws Exception {
        script(jdk.resolve("bin/java"), """
                #!/bin/sh
                for argument; do
                  case $argument in
                  -XX:ArchiveClassesAtExit=*) cat > "${argument#*=}"; exit 0 ;;
                  esac
                done
                printf '%s\\n' "$@"
                """);
        assertThat(run(project.resolve("millrace"), "render").lines()).anyMatch(line -> line.contains("preparing"));
        Files.createDirectories(project.resolve("standalone/target/lib"));
        Path picocli = Files.writeString(project.resolve("standalone/target/lib/picocli-1.jar"), "");
        for (List<String> arguments : List.of(
                List.<String>of(),
                List.of("--help"),
                List.of("--version"),
                List.of("dmeo"),
                List.of("help", "up"),
                List.of("render", "--raw"),
                List.of("tokenize"),
                List.of("up", "--help"),
                List.of("bench", "-h"))) {
            List<String> lines = run(project.resolve("millrace"), arguments.toArray(String[]::new))
                    .lines();
            assertThat(lines)
                    .as(arguments.toString())
                    .contains("-XX:TieredStopAtLevel=1", "-Xbootclasspath/a:" + picocli.toRealPath())
                    .anyMatch(line -> line.startsWith("-XX:SharedArchiveFile="))
                    .noneMatch(line -> line.startsWith("@") || line.contains("preparing"));
            assertThat(lines.subList(lines.size() - arguments.size(), lines.size()))
                    .isEqualTo(arguments);
        }
        environment.put("MILLRACE_AOT", "off");
        assertThat(run(project.resolve("millrace"), "--help").lines()).noneMatch(line -> line.contains("Archive"));
    }

    @Test
    void commandsThatComputeGetTheFlagsOfTheKernels() throws Exception {
        List<String> commands =
                new ArrayList<>(MillraceCommand.subcommands(Console.ofProcess()).keySet());
        commands.removeAll(List.of("help", "render", "tokenize"));
        environment.put("MILLRACE_AOT", "off");
        run(project.resolve("millrace"), "--help");
        for (String command : commands) {
            assertThat(run(project.resolve("millrace"), command, "--model", "x").lines())
                    .as(command)
                    .contains(sharedFlags())
                    .doesNotContain("-XX:TieredStopAtLevel=1");
        }
    }

    /// A wrong setting would leave the starts that follow without a cache.
    @Test
    void preparesQuickStartsWithoutTheSettingsOfTheStartItself() throws Exception {
        script(jdk.resolve("bin/java"), """
                #!/bin/sh
                for argument; do
                  case $argument in
                  -XX:AOTCacheOutput=*)
                    printf '%s\\n' "$@" >"${argument#*=}.seen"
                    env >>"${argument#*=}.seen"
                    exit 1 ;;
                  esac
                done
                printf '%s\\n' "$@" "$MILLRACE_KV_FORMAT"
                """);
        environment.put("MILLRACE_KV_FORMAT", "wrong");
        environment.put("MILLRACE_JAVA_OPTS", "-Xmx1g -Dmillrace.kernels.threads=wrong");
        assertThat(run(project.resolve("millrace"), "up").lines())
                .contains("-Dmillrace.kernels.threads=wrong", "-Xmx1g", "wrong");
        try (Stream<Path> files = Files.list(project.resolve("standalone/target"))) {
            Path seen = files.filter(file -> file.toString().endsWith(".seen"))
                    .findFirst()
                    .orElseThrow();
            assertThat(Files.readAllLines(seen))
                    .contains("-Xmx1g", "-Dmillrace.home=" + project.toRealPath())
                    .noneMatch(line -> line.contains("wrong"));
        }
    }

    @Test
    void aCacheThatCannotBeMadeIsDoneWithout() throws Exception {
        assertThat(run(project.resolve("millrace"), "up").lines()).anyMatch(line -> line.contains("preparing"));
        makeOfOneTime();
        Outcome second = run(project.resolve("millrace"), "up");
        assertThat(second.exitCode()).isEqualTo(3);
        assertThat(second.lines()).noneMatch(line -> line.contains("AOT") || line.contains("preparing"));
    }

    // Clocks of files tick every few milliseconds only.
    private void makeOfOneTime() throws IOException {
        Path target = project.resolve("standalone/target");
        FileTime time = Files.getLastModifiedTime(target.resolve("millrace-standalone-1.jar"));
        try (Stream<Path> files = Files.list(target)) {
            for (Path cache :
                    files.filter(file -> file.toString().endsWith(".aot")).toList()) {
                Files.setLastModifiedTime(cache, time);
            }
        }
    }

    @Test
    void worksFromAnyFolderAndThroughLinks() throws Exception {
        Path links = Files.createDirectory(folder.resolve("links"));
        Path first = Files.createSymbolicLink(links.resolve("first"), Path.of("../a project/millrace"));
        Path second = Files.createSymbolicLink(links.resolve("second"), first);
        assertThat(run(second, "--help").lines()).contains("-Dmillrace.home=" + project.toRealPath(), "--help");
    }

    @Test
    void buildsAgainOnlyWhenASourceIsNewer() throws Exception {
        run(project.resolve("millrace"));
        Path source = project.resolve("engine/src/main/java/A.java");
        Files.setLastModifiedTime(source, FileTime.from(Instant.now().plusSeconds(5)));
        run(project.resolve("millrace"));
        assertThat(builds()).hasSize(2);
        age(source);
        Files.createDirectories(project.resolve("engine/src/test/java"));
        Path test = Files.writeString(project.resolve("engine/src/test/java/B.java"), "");
        Files.setLastModifiedTime(test, FileTime.from(Instant.now().plusSeconds(5)));
        run(project.resolve("millrace"));
        assertThat(builds()).hasSize(2);
    }

    @Test
    void aBuildThatFailsIsSaidPlainly() throws Exception {
        Files.writeString(project.resolve("broken"), "");
        Outcome outcome = run(project.resolve("millrace"));
        assertThat(outcome.exitCode()).isEqualTo(1);
        assertThat(outcome.lines().getLast()).isEqualTo("millrace: the build failed, see above");
    }

    private Outcome run(Path script, String... arguments) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of(script.toString()));
        command.addAll(List.of(arguments));
        ProcessBuilder builder =
                new ProcessBuilder(command).directory(Path.of("/").toFile()).redirectErrorStream(true);
        builder.environment().put("JAVA_HOME", jdk.toString());
        builder.environment().remove("MILLRACE_JAVA_OPTS");
        builder.environment().putAll(environment);
        Process process = builder.start();
        process.getOutputStream().close();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
        return new Outcome(process.exitValue(), output.lines().toList());
    }

    private List<String> builds() throws IOException {
        return Files.readAllLines(project.resolve("builds"));
    }

    private static void script(Path file, String text) throws IOException {
        Files.writeString(file, text);
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwxr-xr-x"));
    }

    private static void age(Path file) throws IOException {
        Files.setLastModifiedTime(file, FileTime.from(Instant.now().minusSeconds(60)));
    }
}
