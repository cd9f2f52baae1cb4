package io.millrace.standalone.client;

import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.net.ConnectException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.MissingNode;

/// Asks a running suite by REST and reads its streams.
public final class MillraceClient implements AutoCloseable {
    private static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(10);
    private static final Duration REQUEST_TIMEOUT = Duration.ofMinutes(15);
    private static final int MAX_ERROR_BYTES = 65_536;
    private static final String DATA = "data:";
    private static final String DONE = "[DONE]";

    private final JsonMapper mapper = JsonMapper.shared();
    private final URI server;
    private final HttpClient http = HttpClient.newBuilder()
            .version(HttpClient.Version.HTTP_1_1)
            .connectTimeout(CONNECT_TIMEOUT)
            .build();

    /// @param server  e.g. `http://127.0.0.1:8080`
    public MillraceClient(URI server) {
        if (!isServer(server)) {
            throw new IllegalArgumentException("url: " + server + " (expected: one like http://127.0.0.1:8080)");
        }
        this.server = server;
    }

    /// Whether that can be the address of a suite.
    public static boolean isServer(URI address) {
        String scheme = String.valueOf(address.getScheme()).toLowerCase(Locale.ROOT);
        return address.getHost() != null && (scheme.equals("http") || scheme.equals("https"));
    }

    /// Whether the suite says that it can answer.
    public boolean isHealthy() throws IOException {
        HttpResponse<InputStream> response = send(request("/health").GET().build());
        response.body().close();
        return response.statusCode() == 200;
    }

    /// Id of the first model served.
    public String modelId() throws IOException {
        JsonNode list = whole(request("/v1/models").GET().build());
        return list.path("data").path(0).path("id").asString("");
    }

    /// Tokens of prompt and answer together that the first model serves.
    public int contextTokens() throws IOException {
        JsonNode list = whole(request("/v1/models").GET().build());
        return list.path("data").path(0).path("max_model_len").asInt(0);
    }

    /// Streams `POST /v1/chat/completions`.
    ///
    /// @param body  the request without `stream` and `stream_options`
    public Reply chat(Map<String, @Nullable Object> body, ReplyListener listener) throws IOException {
        return streamed("/v1/chat/completions", withUsage(body), listener);
    }

    /// Streams `POST /v1/completions`.
    ///
    /// @param body  the request without `stream` and `stream_options`
    public Reply complete(Map<String, @Nullable Object> body, ReplyListener listener) throws IOException {
        return streamed("/v1/completions", withUsage(body), listener);
    }

    /// Streams `POST /inference`.
    ///
    /// @param body  the request without `stream`
    public Reply infer(Map<String, @Nullable Object> body, ReplyListener listener) throws IOException {
        Map<String, @Nullable Object> streaming = new LinkedHashMap<>(body);
        streaming.put("stream", true);
        return streamed("/inference", streaming, listener);
    }

    /// Sends one body and reads the JSON that comes back.
    public JsonNode post(String path, Map<String, @Nullable Object> body) throws IOException {
        return whole(posting(path, body));
    }

    private static Map<String, @Nullable Object> withUsage(Map<String, @Nullable Object> body) {
        Map<String, @Nullable Object> streaming = new LinkedHashMap<>(body);
        streaming.put("stream", true);
        streaming.put("stream_options", Map.of("include_usage", true));
        return streaming;
    }

    private JsonNode whole(HttpRequest request) throws IOException {
        HttpResponse<InputStream> response = send(request);
        try (InputStream in = response.body()) {
            requireSuccess(response);
            return mapper.readTree(in);
        } catch (JacksonException e) {
            throw unreadable(e);
        }
    }

    private Reply streamed(String path, Map<String, @Nullable Object> body, ReplyListener listener) throws IOException {
        HttpResponse<InputStream> response = send(posting(path, body));
        Fold fold = new Fold(listener);
        try (InputStream in = response.body();
                BufferedReader lines = new BufferedReader(new InputStreamReader(in, StandardCharsets.UTF_8))) {
            requireSuccess(response);
            String line = lines.readLine();
            while (line != null && !fold.ended) {
                if (line.startsWith(DATA)) {
                    accept(line.substring(DATA.length()).strip(), fold);
                }
                line = lines.readLine();
            }
        } catch (JacksonException e) {
            throw unreadable(e);
        }
        if (!fold.ended) {
            throw new IOException("the answer broke off");
        }
        return fold.reply();
    }

    private void accept(String data, Fold fold) {
        if (data.equals(DONE)) {
            fold.ended = true;
            return;
        }
        JsonNode event = mapper.readTree(data);
        if (event.has("error")) {
            throw refused(event.path("error"), "the answer ended with an error");
        }
        fold.add(event);
    }

    /// Adds up the events of a stream.
    private static final class Fold {
        private final ReplyListener listener;
        private final StringBuilder text = new StringBuilder();
        private final StringBuilder reasoning = new StringBuilder();
        private String finishReason = "";
        private JsonNode usage = MissingNode.getInstance();
        private JsonNode timings = MissingNode.getInstance();
        private boolean ended;

        Fold(ReplyListener listener) {
            this.listener = listener;
        }

        void add(JsonNode event) {
            if (event.path("usage").isObject()) {
                usage = event.path("usage");
                timings = event.path("timings");
            }
            JsonNode choice = event.path("choices").path(0);
            JsonNode delta = choice.path("delta");
            heard(delta.path("reasoning_content").asString(""), reasoning, true);
            // A chat's, a completion's or an inference's piece.
            heard(delta.path("content").asString(""), text, false);
            heard(choice.path("text").asString(""), text, false);
            heard(event.path("text").asString(""), text, false);
            if (choice.path("finish_reason").isString()) {
                finishReason = choice.path("finish_reason").asString();
            }
        }

        private void heard(String piece, StringBuilder whole, boolean reasoned) {
            if (piece.isEmpty()) {
                return;
            }
            whole.append(piece);
            if (reasoned) {
                listener.onReasoning(piece);
            } else {
                listener.onText(piece);
            }
        }

        Reply reply() {
            return new Reply(text.toString(), reasoning.toString(), finishReason, Receipt.of(usage, timings));
        }
    }

    private HttpRequest.Builder request(String path) {
        return HttpRequest.newBuilder(server.resolve(path)).timeout(REQUEST_TIMEOUT);
    }

    private HttpRequest posting(String path, Map<String, @Nullable Object> body) {
        return request(path)
                .header("Content-Type", "application/json")
                .POST(HttpRequest.BodyPublishers.ofByteArray(mapper.writeValueAsBytes(body)))
                .build();
    }

    private HttpResponse<InputStream> send(HttpRequest request) throws IOException {
        try {
            return http.send(request, HttpResponse.BodyHandlers.ofInputStream());
        } catch (ConnectException e) {
            throw new MillraceException(
                    ErrorCode.INVALID_REQUEST,
                    "nobody answers at " + server + " (expected: a running suite; start one with millrace up)",
                    e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new MillraceException(ErrorCode.CANCELLED, "the request was interrupted", e);
        }
    }

    private void requireSuccess(HttpResponse<InputStream> response) throws IOException {
        if (response.statusCode() == 200) {
            return;
        }
        String what = "HTTP status " + response.statusCode();
        byte[] body = response.body().readNBytes(MAX_ERROR_BYTES);
        JsonNode error;
        try {
            error = mapper.readTree(body).path("error");
        } catch (JacksonException e) {
            error = MissingNode.getInstance();
        }
        throw refused(error, what + " from " + server);
    }

    private static MillraceException refused(JsonNode error, String unexplained) {
        return new MillraceException(
                codeOf(error.path("code").asString("")).orElse(ErrorCode.INTERNAL),
                error.path("message").asString(unexplained));
    }

    private static Optional<ErrorCode> codeOf(String wireName) {
        for (ErrorCode code : ErrorCode.values()) {
            if (code.wireName().equals(wireName)) {
                return Optional.of(code);
            }
        }
        return Optional.empty();
    }

    private IOException unreadable(JacksonException e) {
        return new IOException(server + " answered with something that is no JSON: " + e.getOriginalMessage(), e);
    }

    @Override
    public void close() {
        http.close();
    }
}
