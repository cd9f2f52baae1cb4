package io.millrace.standalone;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.millrace.standalone.client.MillraceClient;
import io.millrace.standalone.client.ReplyListener;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/// `millrace up` as a process of its own. Two tests run at a time, as starts take the time.
class UpCommandIT {
    private static final int SIGTERM_EXIT = 128 + 15;
    private static final Path ROOT =
            Path.of(System.getProperty("millrace.root", "..")).toAbsolutePath();
    private static final String DIED = "the engine of this instance has died and cannot go on: ";

    @TempDir
    private Path folder = Path.of("");

    @Execution(ExecutionMode.CONCURRENT)
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
                    .containsExactly(
                            "millrace: starting the suite: gateway, prefill, decode, kv-cache",
                            "millrace: shutting down: no requests under way",
                            "millrace: shut down");
        } finally {
            process.destroyForcibly();
        }
    }

    @Execution(ExecutionMode.CONCURRENT)
    @Test
    @Timeout(value = 90, unit = TimeUnit.SECONDS)
    void anAnswerThatOutlastsTheGracePeriodEndsWithAnError() throws Exception {
        Path errors = folder.resolve("errors");
        Process process = start(errors, "up", "--port", "0", "--provider", "scalar", "--shutdown-grace", "1");
        try (BufferedReader out =
                        new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
                HttpClient http = HttpClient.newHttpClient()) {
            String ready = out.readLine();
            assertThat(ready).as(Files.readString(errors)).startsWith("ready http://127.0.0.1:");
            URI url = URI.create(ready.substring("ready ".length()) + "/v1/completions");
            String body = "{\"prompt\":\"1\",\"max_tokens\":30000,\"ignore_eos\":true,\"stream\":";
            CompletableFuture<HttpResponse<String>> whole =
                    http.sendAsync(post(url, body + "false}"), HttpResponse.BodyHandlers.ofString());
            HttpResponse<Stream<String>> streaming =
                    http.send(post(url, body + "true}"), HttpResponse.BodyHandlers.ofLines());
            // The first token is there.
            Iterator<String> lines = streaming.body().iterator();
            assertThat(lines.next()).startsWith("data: ");

            process.toHandle().destroy();

            List<String> data = new ArrayList<>();
            lines.forEachRemaining(data::add);
            data.removeIf(String::isEmpty);
            assertThat(data.getLast()).isEqualTo("data: [DONE]");
            assertThat(data.get(data.size() - 2))
                    .startsWith("data: {\"error\":")
                    .contains("\"shutting_down\"");
            assertThat(whole.get(20, TimeUnit.SECONDS).statusCode()).isEqualTo(503);
            assertThat(whole.join().body()).contains("\"shutting_down\"");
            assertThat(process.waitFor(10, TimeUnit.SECONDS)).isTrue();
            assertThat(process.exitValue()).isEqualTo(SIGTERM_EXIT);
            assertThat(Files.readString(errors).lines())
                    .containsSubsequence(
                            "millrace: shutting down: 2 requests under way may finish within 1 s",
                            "millrace: shut down");
        } finally {
            process.destroyForcibly();
        }
    }

    /// The pool is seen in what can be served, the limit in what is refused.
    @Execution(ExecutionMode.CONCURRENT)
    @Test
    @Timeout(value = 90, unit = TimeUnit.SECONDS)
    void takesTheKeysOfTheServices() throws Exception {
        Path errors = folder.resolve("errors");
        Map<String, String> environment =
                Map.of("MILLRACE_GATEWAY_LIMITS_MAXCHOICES", "2", "MILLRACE_KV_POOLTOKENS", "1280");
        Process process = start(errors, environment, "up", "--port", "0", "--millrace.kv.pool-tokens=640");
        try (BufferedReader out =
                new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
            String ready = out.readLine();
            assertThat(ready).as(Files.readString(errors)).startsWith("ready http://127.0.0.1:");
            try (MillraceClient client = new MillraceClient(URI.create(ready.substring("ready ".length())))) {
                assertThat(client.post("/tokenize", Map.of("prompt", "1"))
                                .path("max_model_len")
                                .asInt())
                        .isEqualTo(640);
                assertThatThrownBy(() -> client.post("/v1/completions", Map.of("prompt", "1", "n", 3)))
                        .hasMessageContaining("n: 3 (expected: 1..2)");
            }
        } finally {
            process.destroyForcibly();
        }
    }

    private static HttpRequest post(URI url, String body) {
        return HttpRequest.newBuilder(url)
                .header("Content-Type", "application/json")
                .POST(HttpRequest.BodyPublishers.ofString(body))
                .build();
    }

    /// The mapped file loses its pages while it is read: nothing a suite can go on from.
    @Execution(ExecutionMode.CONCURRENT)
    @Test
    @Timeout(value = 120, unit = TimeUnit.SECONDS)
    void endsWithTheReasonWhenTheWeightsAreGone() throws Exception {
        Path errors = folder.resolve("errors");
        Process process = start(errors, "up", "--port", "0", "--provider", "scalar");
        try (BufferedReader out =
                new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
            String ready = out.readLine();
            assertThat(ready).as(Files.readString(errors)).startsWith("ready http://127.0.0.1:");
            try (MillraceClient client = new MillraceClient(URI.create(ready.substring("ready ".length())))) {
                for (Path pack : packs()) {
                    try (FileChannel file = FileChannel.open(pack, StandardOpenOption.WRITE)) {
                        file.truncate(0);
                    }
                }
                assertThatThrownBy(() -> client.complete(Map.of("prompt", "1", "max_tokens", 8), ReplyListener.NONE))
                        .hasMessageContaining(DIED);
            }
            assertThat(process.waitFor(30, TimeUnit.SECONDS)).isTrue();
            assertThat(process.exitValue()).isEqualTo(1);
            assertThat(Files.readString(errors).lines().filter(line -> line.startsWith("millrace: " + DIED)))
                    .hasSize(1);
        } finally {
            process.destroyForcibly();
        }
    }

    private List<Path> packs() throws IOException {
        try (Stream<Path> files = Files.walk(folder)) {
            List<Path> packs =
                    files.filter(file -> file.toString().endsWith(".millrace")).toList();
            assertThat(packs).isNotEmpty();
            return packs;
        }
    }

    private Process start(Path errors, String... arguments) throws IOException {
        return start(errors, Map.of(), arguments);
    }

    private Process start(Path errors, Map<String, String> environment, String... arguments) throws IOException {
        String classPath = System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
        ProcessBuilder builder = new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "@" + ROOT.resolve("java.args"),
                "-XX:TieredStopAtLevel=1",
                "-Dmillrace.home=" + ROOT,
                "-cp",
                classPath,
                "io.millrace.standalone.MillraceCommand");
        builder.command().addAll(List.of(arguments));
        builder.environment().put("XDG_CACHE_HOME", folder.toString());
        builder.environment().putAll(environment);
        builder.environment().remove("JAVA_TOOL_OPTIONS");
        builder.environment().remove("JDK_JAVA_OPTIONS");
        return builder.redirectError(errors.toFile()).start();
    }
}
