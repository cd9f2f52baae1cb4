package io.millrace.gateway.fake;

import static org.awaitility.Awaitility.await;

import io.millrace.gateway.GatewayApplication;
import io.millrace.gateway.fake.FakeDecode.Script;
import io.millrace.gateway.served.ServedModel;
import io.millrace.proto.v1.Finish;
import io.millrace.proto.v1.FinishReason;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/// A real gateway, on free ports, in front of fake services; with the mini model's tokenizer and
/// template.
public final class Suite implements AutoCloseable {
    public static final JsonMapper JSON = JsonMapper.shared();

    public final FakePrefill prefill = new FakePrefill("prefill-a");
    public final FakeDecode decodeA = new FakeDecode("decode-a");
    public final FakeDecode decodeB = new FakeDecode("decode-b");
    public final FakeCache cache = new FakeCache();
    public final HttpClient http;
    private final String scheme;
    private final List<FakeServer> servers = new ArrayList<>();
    public final ConfigurableApplicationContext context;
    public final int port;
    public final ServedModel model;

    public Suite(Class<?> extraConfiguration, String... arguments) {
        this(extraConfiguration, List.of(arguments), "http", HttpClient.newBuilder());
    }

    /// One that is asked over TLS.
    public Suite(TestCertificate certificate) {
        this(
                Object.class,
                certificate.arguments(),
                "https",
                HttpClient.newBuilder().sslContext(certificate.client()));
    }

    private Suite(Class<?> extraConfiguration, List<String> arguments, String scheme, HttpClient.Builder client) {
        this.scheme = scheme;
        this.http = client.version(HttpClient.Version.HTTP_1_1).build();
        List<FakeServer> started = List.of(
                new FakeServer(prefill), new FakeServer(decodeA), new FakeServer(decodeB), new FakeServer(cache));
        servers.addAll(started);
        List<String> all = new ArrayList<>(List.of(
                "--server.port=0",
                "--management.server.port=0",
                "--millrace.model.path=" + miniModel(),
                "--millrace.gateway.prefill-targets=" + started.get(0).target(),
                "--millrace.gateway.decode-targets=" + started.get(1).target() + ","
                        + started.get(2).target(),
                "--millrace.gateway.kv-cache-targets=" + started.get(3).target(),
                "--millrace.gateway.describe-interval=100ms"));
        all.addAll(arguments);
        SpringApplicationBuilder builder = GatewayApplication.builder();
        if (extraConfiguration != Object.class) {
            builder.sources(extraConfiguration);
        }
        context = builder.run(all.toArray(String[]::new));
        port = context.getEnvironment().getRequiredProperty("local.server.port", Integer.class);
        model = context.getBean(ServedModel.class);
        await().atMost(Duration.ofSeconds(10)).until(() -> get("/health").statusCode() == 200);
    }

    /// Kills both decode instances.
    public void stopDecode() {
        servers.get(1).close();
        servers.get(2).close();
    }

    /// Kills both decode instances and starts them again on their ports.
    public void restartDecode() {
        int portA = servers.get(1).port();
        int portB = servers.get(2).port();
        stopDecode();
        servers.set(1, new FakeServer(decodeA, portA));
        servers.set(2, new FakeServer(decodeB, portB));
    }

    public static Path miniModel() {
        return Path.of(System.getProperty("millrace.root", ".."), "models", "mini");
    }

    public int managementPort() {
        return context.getEnvironment().getRequiredProperty("local.management.port", Integer.class);
    }

    /// A metric of the gateway, summed over all its tags; 0 if there is none.
    public double metric(String name) {
        return metrics()
                .lines()
                .filter(line -> line.startsWith(name))
                .mapToDouble(line -> Double.parseDouble(line.substring(line.lastIndexOf(' ') + 1)))
                .sum();
    }

    /// The page of metrics.
    public String metrics() {
        URI page = URI.create("http://localhost:" + managementPort() + "/actuator/prometheus");
        return send(HttpRequest.newBuilder(page).build()).body();
    }

    /// Forgets what the fakes saw and were told.
    public void reset() {
        prefill.reset();
        decodeA.reset();
        decodeB.reset();
        cache.released.clear();
        answer("Hello.");
    }

    public List<Integer> ids(String text) {
        return IntStream.of(model.tokenizer().encode(text)).boxed().toList();
    }

    /// Both decode instances answer this text, then the end token.
    public void answer(String text) {
        answer(text, 1);
    }

    public void answer(String text, int groupSize) {
        int end = model.endIds().getFirst();
        List<Integer> ids = new ArrayList<>(ids(text));
        ids.add(end);
        script(new Script(ids, groupSize, FakeDecode.stop(end, 0)));
    }

    /// Both decode instances answer this text and are cut off by the length.
    public void answerCutOff(String text) {
        script(new Script(
                ids(text),
                1,
                Finish.newBuilder().setReason(FinishReason.FINISH_REASON_LENGTH).build()));
    }

    public void script(Script script) {
        decodeA.scripts = _ -> script;
        decodeB.scripts = _ -> script;
    }

    /// Calls to either decode instance.
    public List<io.millrace.proto.v1.DecodeRequest> decodeRequests() {
        List<io.millrace.proto.v1.DecodeRequest> all = new ArrayList<>(decodeA.requests);
        all.addAll(decodeB.requests);
        return all;
    }

    public URI uri(String path) {
        return URI.create(scheme + "://localhost:" + port + path);
    }

    public HttpResponse<String> get(String path) {
        return send(HttpRequest.newBuilder(uri(path)).build());
    }

    public HttpResponse<String> post(String path, String json) {
        return send(HttpRequest.newBuilder(uri(path))
                .header("Content-Type", "application/json")
                .POST(BodyPublishers.ofString(json))
                .build());
    }

    public HttpResponse<String> send(HttpRequest request) {
        try {
            return http.send(request, BodyHandlers.ofString());
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(e);
        }
    }

    /// A chat request with one user message and further fields, e.g. `"stream":true`.
    public static String chat(String... fields) {
        List<String> all = new ArrayList<>(List.of("\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}]"));
        all.addAll(List.of(fields));
        return "{" + String.join(",", all) + "}";
    }

    public JsonNode chatReply(String... fields) {
        HttpResponse<String> response = post("/v1/chat/completions", chat(fields));
        if (response.statusCode() != 200) {
            throw new AssertionError(response.statusCode() + " " + response.body());
        }
        return JSON.readTree(response.body());
    }

    /// The JSON chunks of a stream, which must end with `[DONE]`.
    public List<JsonNode> stream(String path, String json) {
        HttpResponse<String> response = post(path, json);
        if (response.statusCode() != 200) {
            throw new AssertionError(response.statusCode() + " " + response.body());
        }
        return chunks(response.body());
    }

    public static List<JsonNode> chunks(String body) {
        List<String> data = body.lines()
                .filter(line -> line.startsWith("data: "))
                .map(line -> line.substring(6))
                .toList();
        if (data.isEmpty() || !data.getLast().equals("[DONE]")) {
            throw new AssertionError("stream without [DONE]: " + body);
        }
        return data.subList(0, data.size() - 1).stream().map(JSON::readTree).toList();
    }

    public static Map<String, Object> object(JsonNode node) {
        return JSON.convertValue(node, JSON.getTypeFactory().constructMapType(Map.class, String.class, Object.class));
    }

    @Override
    public void close() {
        context.close();
        servers.forEach(FakeServer::close);
        http.close();
    }
}
