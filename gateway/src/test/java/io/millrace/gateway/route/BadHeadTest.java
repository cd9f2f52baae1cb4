package io.millrace.gateway.route;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.gateway.fake.Suite;
import io.millrace.gateway.fake.SuiteExtension;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/// What a request's head asks for and there is not: a route, a method, a kind of body.
@ExtendWith(SuiteExtension.class)
class BadHeadTest {
    private final Suite suite;

    BadHeadTest(Suite suite) {
        this.suite = suite;
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "text/plain",
                "application/x-www-form-urlencoded",
                "multipart/form-data; boundary=x",
                "application/json; charset=iso-8859-1",
                "nonsense"
            })
    void refusesAWrongContentType(String type) {
        HttpRequest request = HttpRequest.newBuilder(suite.uri("/v1/chat/completions"))
                .header("Content-Type", type)
                .POST(BodyPublishers.ofString(Suite.chat()))
                .build();

        HttpResponse<String> response = suite.send(request);
        refused(response, 415, "unsupported_media_type");
        assertThat(message(response)).isEqualTo("Content-Type: " + type + " (expected: application/json in UTF-8)");
    }

    @ParameterizedTest
    @CsvSource({
        "GET, /health, */*",
        "POST, /v1/chat/completions, application/*",
        "POST, /tokenize, application/*+json",
        "GET, /v1/models, *",
        "POST, /nothing, text/*"
    })
    void refusesAContentTypeWithAWildcard(String method, String path, String type) {
        HttpRequest request = HttpRequest.newBuilder(suite.uri(path))
                .header("Content-Type", type)
                .method(method, BodyPublishers.ofString(Suite.chat()))
                .build();

        HttpResponse<String> response = suite.send(request);
        refused(response, 415, "unsupported_media_type");
        assertThat(message(response)).isEqualTo("Content-Type: " + type + " (expected: application/json in UTF-8)");
    }

    @Test
    void refusesABodyWithoutAContentType() {
        HttpRequest request = HttpRequest.newBuilder(suite.uri("/tokenize"))
                .POST(BodyPublishers.ofString(Suite.chat()))
                .build();

        assertThat(message(suite.send(request)))
                .isEqualTo("Content-Type: missing (expected: application/json in UTF-8)");
    }

    @Test
    void refusesACompressedBodyAndNamesTheHeader() {
        HttpRequest request = HttpRequest.newBuilder(suite.uri("/v1/chat/completions"))
                .header("Content-Type", "application/json")
                .header("Content-Encoding", "gzip")
                .POST(BodyPublishers.ofString(Suite.chat()))
                .build();

        HttpResponse<String> response = suite.send(request);

        refused(response, 415, "unsupported_media_type");
        assertThat(response.body()).contains("Content-Encoding: gzip (expected: no compression)");
    }

    @Test
    void refusesAWrongMethodAndNamesTheRightOne() {
        HttpResponse<String> response = suite.get("/v1/chat/completions");

        refused(response, 405, "method_not_allowed");
        assertThat(response.headers().firstValue("Allow")).hasValue("POST");
        assertThat(message(response)).isEqualTo("HTTP method: GET on /v1/chat/completions (expected: POST)");
        HttpResponse<String> list = suite.post("/v1/models", "{}");
        refused(list, 405, "method_not_allowed");
        assertThat(list.headers().firstValue("Allow")).hasValue("GET, HEAD");
    }

    @ParameterizedTest
    @ValueSource(strings = {"/", "/nothing", "/error", "/v1/embeddings", "/favicon.ico", "/v1/models/"})
    void refusesAnUnknownRoute(String path) {
        assertThat(suite.get(path).statusCode()).isEqualTo(404);
        String code = Suite.JSON
                .readTree(suite.get(path).body())
                .get("error")
                .get("code")
                .asString();
        assertThat(code).isIn("route_not_found", "model_not_found");
    }

    @ParameterizedTest
    @CsvSource(nullValues = "-", textBlock = """
            GET, /v1/embeddings, -
            POST, /, -
            POST, /v1/chat/completions/, /v1/chat/completions
            POST, /v1/chat/completion, /v1/chat/completions
            OPTIONS, /v1/completion, /v1/completions
            GET, /health/, /health
            """)
    void namesAnUnknownRouteAndWhatThereIs(String method, String path, @Nullable String near) {
        HttpRequest request = HttpRequest.newBuilder(suite.uri(path))
                .method(method, BodyPublishers.noBody())
                .build();

        HttpResponse<String> response = suite.send(request);

        refused(response, 404, "route_not_found");
        assertThat(message(response))
                .isEqualTo(method + " " + path + ": no such route (expected: one of POST /v1/chat/completions, "
                        + "POST /v1/completions, POST /inference, GET /v1/models, GET /v1/models/{id}, POST /tokenize, "
                        + "POST /detokenize, GET /health" + (near == null ? "" : "; nearest is " + near) + ")");
    }

    @Test
    void cutsALongPathShort() {
        assertThat(message(suite.get("/" + "a".repeat(5000)))).hasSizeLessThan(600);
    }

    @ParameterizedTest
    @CsvSource({
        "/v1/chat/completions, POST",
        "/v1/models, 'GET, HEAD'",
        "/v1/models/millrace-mini, 'GET, HEAD'",
        "/health, 'GET, HEAD'"
    })
    void optionsAreThoseOfTheRoute(String path, String allowed) {
        HttpRequest request = HttpRequest.newBuilder(suite.uri(path))
                .method("OPTIONS", BodyPublishers.noBody())
                .build();

        HttpResponse<String> response = suite.send(request);

        assertThat(response.statusCode()).isEqualTo(204);
        assertThat(response.headers().allValues("Allow")).containsExactly(allowed);
    }

    private void refused(HttpResponse<String> response, int status, String code) {
        assertThat(response.statusCode()).as(response.body()).isEqualTo(status);
        assertThat(response.headers().firstValue("Content-Type")).hasValue("application/json");
        assertThat(response.headers().firstValue("X-Request-Id")).isPresent();
        var error = Suite.JSON.readTree(response.body()).get("error");
        assertThat(error.propertyNames()).containsExactly("message", "type", "param", "code");
        assertThat(error.get("code").asString()).isEqualTo(code);
        assertThat(error.get("param").isNull()).isTrue();
        assertThat(suite.get("/health").statusCode()).isEqualTo(200);
        assertThat(suite.decodeRequests()).isEmpty();
        assertThat(suite.prefill.requests).isEmpty();
    }

    private static String message(HttpResponse<String> response) {
        return Suite.JSON.readTree(response.body()).get("error").get("message").asString();
    }
}
