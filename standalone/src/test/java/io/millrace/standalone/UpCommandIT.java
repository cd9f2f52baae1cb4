package io.millrace.standalone;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.standalone.client.MillraceClient;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/// `millrace up` as a process of its own.
class UpCommandIT {
    private static final int SIGTERM_EXIT = 128 + 15;

    @TempDir
    private Path folder = Path.of("");

    @Test
    @Timeout(value = 90, unit = TimeUnit.SECONDS)
    void saysOneLineAndEndsCleanlyOnSigterm() throws Exception {
        Path errors = folder.resolve("errors");
        Process process = start(errors, "up", "--port", "0");
        try (BufferedReader out =
                new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
            String ready = out.readLine();
            assertThat(ready).as(Files.readString(errors)).startsWith("ready http://127.0.0.1:");
            try (MillraceClient client = new MillraceClient(URI.create(ready.substring("ready ".length())))) {
                assertThat(client.isHealthy()).isTrue();
            }
            // Process.destroy() would close the pipe as well.
            process.toHandle().destroy();
            assertThat(process.waitFor(10, TimeUnit.SECONDS)).isTrue();
            assertThat(process.exitValue()).isEqualTo(SIGTERM_EXIT);
            assertThat(out.readLine()).isNull();
            assertThat(Files.readString(errors).lines().filter(line -> !line.startsWith("WARNING: Using incubator")))
                    .containsExactly("millrace: starting the suite: gateway, prefill, decode, kv-cache");
        } finally {
            process.destroyForcibly();
        }
    }

    private static Process start(Path errors, String... arguments) throws IOException {
        String classPath = System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
        ProcessBuilder builder = new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1",
                "-Xbatch",
                "--add-modules",
                "jdk.incubator.vector",
                "--enable-native-access=ALL-UNNAMED",
                "--sun-misc-unsafe-memory-access=allow",
                "-Dmillrace.home="
                        + Path.of(System.getProperty("millrace.root", "..")).toAbsolutePath(),
                "-cp",
                classPath,
                "io.millrace.standalone.MillraceCommand");
        builder.command().addAll(java.util.List.of(arguments));
        builder.environment().remove("JAVA_TOOL_OPTIONS");
        builder.environment().remove("JDK_JAVA_OPTIONS");
        return builder.redirectError(errors.toFile()).start();
    }
}
