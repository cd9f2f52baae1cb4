package io.millrace.gateway.error;

import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.json.JsonMapper;

/// The one translator from errors to HTTP: status, seconds to wait, and the body
/// `{"error":{"message","type","param","code"}}`, which is the same inside a stream.
///
/// @param retryAfterSeconds  value of the Retry-After header, 0 for none
public record ErrorAnswer(
        int status, String code, String message, @Nullable String param, long retryAfterSeconds) {
    private static final int MAX_SHOWN = 200;
    private static final JsonMapper MAPPER = JsonMapper.shared();

    public static ErrorAnswer of(MillraceException error) {
        ErrorCode code = error.code();
        int status = code.httpStatus();
        long retryAfter = status == 429 || status == 503 ? Math.max(1, (error.retryAfterMillis() + 999) / 1000) : 0;
        String message = code == ErrorCode.INTERNAL ? "Internal error." : String.valueOf(error.getMessage());
        return new ErrorAnswer(status, code.wireName(), message, error.param().orElse(null), retryAfter);
    }

    /// A part of a request's head as a message shows it.
    public static String shown(@Nullable String found) {
        if (found == null || found.isBlank()) {
            return found == null ? "missing" : "empty";
        }
        return found.length() <= MAX_SHOWN ? found : found.substring(0, MAX_SHOWN) + "...";
    }

    /// How long something was waited for, as a message shows it.
    public static String shown(Duration wait) {
        long millis = wait.toMillis();
        return millis % 1000 == 0 ? millis / 1000 + " s" : millis + " ms";
    }

    /// OpenAI's name for this class of errors.
    public String type() {
        return switch (status) {
            case 401 -> "authentication_error";
            case 403 -> "permission_error";
            // What the client asks for is served by no release of this server.
            case 501, 505 -> "invalid_request_error";
            case 429 -> "rate_limit_error";
            case 503 -> "overloaded_error";
            default -> status < 500 ? "invalid_request_error" : "server_error";
        };
    }

    public String json() {
        Map<String, @Nullable Object> error = new LinkedHashMap<>();
        error.put("message", message);
        error.put("type", type());
        error.put("param", param);
        error.put("code", code);
        return MAPPER.writeValueAsString(Map.of("error", error));
    }
}
