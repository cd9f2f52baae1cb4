package io.millrace.gateway.route;

import io.millrace.engine.error.ErrorCode;
import io.millrace.gateway.error.ErrorAnswer;
import io.millrace.gateway.error.JsonErrorReportValve;
import java.nio.charset.StandardCharsets;
import org.springframework.http.HttpHeaders;
import org.springframework.http.MediaType;
import org.springframework.web.servlet.function.ServerResponse;

/// JSON answers.
final class Answers {
    private static final String IGNORED_FIELDS = "X-Millrace-Ignored-Fields";

    private Answers() {}

    static ServerResponse json(String json) {
        return write(ServerResponse.ok(), json);
    }

    /// The head of an answer to a body some fields of which had no effect.
    static ServerResponse.BodyBuilder ok(Exchange exchange) {
        ServerResponse.BodyBuilder answer = ServerResponse.ok();
        if (!exchange.ignoredFields().isEmpty()) {
            answer.header(IGNORED_FIELDS, String.join(", ", exchange.ignoredFields()));
        }
        return answer;
    }

    static ServerResponse error(ErrorAnswer error) {
        return write(status(error), error.json());
    }

    private static ServerResponse.BodyBuilder status(ErrorAnswer error) {
        ServerResponse.BodyBuilder answer = ServerResponse.status(error.status());
        if (error.retryAfterSeconds() > 0) {
            answer.header(HttpHeaders.RETRY_AFTER, Long.toString(error.retryAfterSeconds()));
        }
        if (error.code().equals(ErrorCode.SHUTTING_DOWN.wireName())) {
            // The next request is to find another instance, not this one once more.
            answer.header(HttpHeaders.CONNECTION, "close");
        }
        return answer;
    }

    /// An error after which the connection is closed, whatever of the request is still to come. The container writes
    /// it, as it takes no answer from anybody else once a read of the body failed.
    static ServerResponse lastError(ErrorAnswer error) {
        return status(error).build((request, response) -> {
            request.setAttribute(JsonErrorReportValve.ANSWER, error);
            if (!response.isCommitted()) {
                response.sendError(error.status());
            }
            return null;
        });
    }

    static ServerResponse write(ServerResponse.BodyBuilder answer, String json) {
        byte[] bytes = json.getBytes(StandardCharsets.UTF_8);
        return answer.contentType(MediaType.APPLICATION_JSON)
                .contentLength(bytes.length)
                .build((_, response) -> {
                    response.getOutputStream().write(bytes);
                    return null;
                });
    }
}
