package io.millrace.gateway.route;

import io.millrace.gateway.error.ErrorAnswer;
import java.nio.charset.StandardCharsets;
import org.springframework.http.HttpHeaders;
import org.springframework.http.MediaType;
import org.springframework.web.servlet.function.ServerResponse;

/// JSON answers.
final class Answers {
    private Answers() {}

    static ServerResponse json(String json) {
        return write(ServerResponse.ok(), json);
    }

    static ServerResponse error(ErrorAnswer error) {
        ServerResponse.BodyBuilder answer = ServerResponse.status(error.status());
        if (error.retryAfterSeconds() > 0) {
            answer.header(HttpHeaders.RETRY_AFTER, Long.toString(error.retryAfterSeconds()));
        }
        return write(answer, error.json());
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
