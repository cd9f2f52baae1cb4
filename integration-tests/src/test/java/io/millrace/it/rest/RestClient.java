package io.millrace.it.rest;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.Iterator;
import java.util.function.Consumer;
import java.util.stream.Stream;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/// Speaks to one REST surface over real HTTP.
public final class RestClient implements AutoCloseable {
    /// Reads what servers answer.
    public static final JsonMapper JSON = JsonMapper.shared();

    private static final Duration TIMEOUT = Duration.ofSeconds(60);
    private static final String EVENT = "data: ";
    private static final String END = "[DONE]";

    private final URI base;
    private final HttpClient http =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

    public RestClient(URI base) {
        this.base = base;
    }

    public URI base() {
        return base;
    }

    public HttpResponse<String> get(String path) {
        return send(request(path).GET().build());
    }

    /// Posts a JSON body and waits for the whole answer.
    public HttpResponse<String> post(String path, String body) {
        return send(postRequest(path, body));
    }

    /// A request to this server, to be finished by the caller.
    public HttpRequest.Builder request(String path) {
        return HttpRequest.newBuilder(base.resolve(path)).timeout(TIMEOUT);
    }

    private HttpRequest postRequest(String path, String body) {
        return request(path)
                .header("Content-Type", "application/json")
                .POST(BodyPublishers.ofString(body))
                .build();
    }

    public HttpResponse<String> send(HttpRequest request) {
        return exchange(request, BodyHandlers.ofString());
    }

    private <T> HttpResponse<T> exchange(HttpRequest request, HttpResponse.BodyHandler<T> handler) {
        try {
            return http.send(request, handler);
        } catch (IOException e) {
            throw new UncheckedIOException(request.method() + " " + request.uri(), e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted", e);
        }
    }

    /// Asks and reads the whole answer.
    public Answer ask(Question question) {
        HttpResponse<String> response = post(question.path(), question.body());
        if (response.statusCode() != 200) {
            throw new IllegalStateException(
                    question + ": " + response.statusCode() + " " + response.body() + " (expected: 200)");
        }
        return Answer.ofBody(JSON.readTree(response.body()));
    }

    /// Asks for a stream and folds it.
    public Answer stream(Question question) {
        return stream(question, chunk -> {});
    }

    /// Asks for a stream and folds it.
    ///
    /// @param watcher  sees each chunk when it comes
    public Answer stream(Question question, Consumer<JsonNode> watcher) {
        Question streamed = question.streamed();
        HttpResponse<Stream<String>> response =
                exchange(postRequest(streamed.path(), streamed.body()), BodyHandlers.ofLines());
        var fold = new StreamFold();
        try (Stream<String> lines = response.body()) {
            if (response.statusCode() != 200) {
                throw new IllegalStateException(
                        streamed + ": " + response.statusCode() + " " + lines.toList() + " (expected: 200)");
            }
            boolean ended = false;
            for (Iterator<String> each = lines.iterator(); each.hasNext(); ) {
                String line = each.next();
                if (!line.startsWith(EVENT)) {
                    continue;
                }
                if (ended) {
                    throw new IllegalStateException(streamed + ": an event after the end: " + line);
                }
                if (line.equals(EVENT + END)) {
                    ended = true;
                    continue;
                }
                JsonNode chunk = JSON.readTree(line.substring(EVENT.length()));
                fold.add(chunk);
                watcher.accept(chunk);
            }
            if (!ended) {
                throw new IllegalStateException(streamed + ": the stream has no end");
            }
        }
        return fold.answer();
    }

    @Override
    public void close() {
        http.shutdownNow();
    }
}
