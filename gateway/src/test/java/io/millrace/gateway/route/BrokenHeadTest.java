package io.millrace.gateway.route;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.gateway.fake.Suite;
import io.millrace.gateway.fake.SuiteExtension;
import java.io.IOException;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import tools.jackson.databind.JsonNode;

/// Requests the HTTP connector itself refuses, before any route could.
@ExtendWith(SuiteExtension.class)
class BrokenHeadTest {
    private final Suite suite;

    BrokenHeadTest(Suite suite) {
        this.suite = suite;
    }

    private record Answer(String head, String body) {
        int status() {
            return Integer.parseInt(head.substring(9, 12));
        }
    }

    private Answer send(String request) throws IOException {
        try (Socket socket = new Socket("localhost", suite.port)) {
            socket.setSoTimeout(10_000);
            socket.getOutputStream().write(request.getBytes(StandardCharsets.ISO_8859_1));
            String answer = new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            int end = answer.indexOf("\r\n\r\n");
            assertThat(end).as("answer: " + answer).isPositive();
            return new Answer(answer.substring(0, end), answer.substring(end + 4));
        }
    }

    private void refused(Answer answer, int status, String code) {
        assertThat(answer.status()).as(answer.head()).isEqualTo(status);
        assertThat(answer.head()).containsIgnoringCase("Content-Type: application/json");
        assertThat(answer.head())
                .containsIgnoringCase("Content-Length: " + answer.body().getBytes(StandardCharsets.UTF_8).length);
        assertThat(answer.head()).containsIgnoringCase("Connection: close");
        JsonNode error = Suite.JSON.readTree(answer.body()).get("error");
        assertThat(error.propertyNames()).containsExactly("message", "type", "param", "code");
        assertThat(error.get("code").asString()).isEqualTo(code);
        assertThat(error.get("message").asString()).contains("(expected: ").doesNotContain("\n");
        assertThat(error.get("param").isNull()).isTrue();
        assertThat(suite.get("/health").statusCode()).isEqualTo(200);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "`NONSENSE\\r\\nHost: a\\r\\n\\r\\n`                                          | 400",
                "`GET /he{}alth HTTP/1.1\\r\\nHost: a\\r\\n\\r\\n`                            | 400",
                "`G@T /health HTTP/1.1\\r\\nHost: a\\r\\n\\r\\n`                              | 400",
                "`GET /health HTTP/7.7\\r\\nHost: a\\r\\n\\r\\n`                              | 505",
                "`GET /health HTTP/1.1\\r\\n\\r\\n`                                           | 400",
                "`GET /health HTTP/1.1\\r\\nHost: a\\r\\nHost: b\\r\\n\\r\\n`                 | 400",
                "`GET /health HTTP/1.1\\r\\nHost: a b\\r\\n\\r\\n`                            | 400",
                "`GET /health HTTP/1.1\\r\\nHost: a:port\\r\\n\\r\\n`                         | 400",
                "`GET /health HTTP/1.1\\r\\nHost: a\\r\\nno header\\r\\n\\r\\n`               | 400",
                "`POST /tokenize HTTP/1.1\\r\\nHost: a\\r\\nContent-Length: x\\r\\n\\r\\n`    | 400",
                "`POST /tokenize HTTP/1.1\\r\\nHost: a\\r\\nTransfer-Encoding: x\\r\\n\\r\\n` | 501",
            })
    void answersABrokenHeadInTheErrorShape(String request, int status) throws IOException {
        refused(send(request.replace("\\r\\n", "\r\n")), status, "invalid_request");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            CONNECT /health HTTP/1.1 |                         | 405 | HTTP method: CONNECT on /health \
            (expected: GET, HEAD, OPTIONS, POST)
            TRACE /health HTTP/1.1   |                         | 405 | HTTP method: TRACE on /health \
            (expected: GET, HEAD, OPTIONS, POST)
            TRACE /v1/none HTTP/1.1  |                         | 405 | HTTP method: TRACE on /v1/none \
            (expected: GET, HEAD, OPTIONS, POST)
            CONNECT a:443 HTTP/1.1   |                         | 405 | HTTP method: CONNECT on a:443 \
            (expected: GET, HEAD, OPTIONS, POST)
            POST /tokenize HTTP/1.1  | Transfer-Encoding: x    | 501 | Transfer-Encoding: x (expected: chunked or none)
            POST /tokenize HTTP/1.1  | Transfer-Encoding: gzip, chunked | 501 | Transfer-Encoding: gzip, chunked \
            (expected: chunked or none)
            GET /health HTTP/1.1     | Expect: foo             | 417 | Expect: foo (expected: 100-continue or none)
            GET /health HTTP/2.0     |                         | 505 | HTTP version: HTTP/2.0 (expected: HTTP/1.1)
            GET /health HTTP/3       |                         | 505 | HTTP version: HTTP/3 (expected: HTTP/1.1)
            """)
    void namesWhatWasFoundAndWhatIsExpected(String line, @Nullable String header, int status, String message)
            throws IOException {
        Answer answer = send(line + "\r\nHost: a\r\n" + (header == null ? "" : header + "\r\n") + "\r\n");

        refused(answer, status, status == 405 ? "method_not_allowed" : "invalid_request");
        JsonNode error = Suite.JSON.readTree(answer.body()).get("error");
        assertThat(error.get("message").asString()).isEqualTo(message);
        assertThat(error.get("type").asString()).isEqualTo("invalid_request_error");
        if (status == 405) {
            assertThat(answer.head()).contains("Allow: GET, HEAD, OPTIONS, POST");
        }
    }

    @Test
    void saysThatTheHeadersAreTooLarge() throws IOException {
        String start = "GET /health HTTP/1.1\r\nHost: a\r\n";

        refused(send(start + "X-Large: " + "x".repeat(20_000) + "\r\n\r\n"), 431, "headers_too_large");
        refused(send(start + "X-Many: x\r\n".repeat(120) + "\r\n"), 431, "headers_too_large");
    }

    @Test
    void saysThatTheRequestLineIsTooLarge() throws IOException {
        refused(send("GET /" + "x".repeat(20_000) + " HTTP/1.1\r\nHost: a\r\n\r\n"), 431, "headers_too_large");
    }
}
