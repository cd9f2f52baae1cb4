package io.millrace.gateway.error;

import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import org.apache.catalina.connector.Request;
import org.apache.catalina.connector.Response;
import org.apache.catalina.valves.ErrorReportValve;
import org.apache.coyote.ActionCode;
import org.jspecify.annotations.Nullable;

/// Errors that no route answered (a broken request line, a failing servlet filter) in the same shape as
/// all others.
public final class JsonErrorReportValve extends ErrorReportValve {
    @Override
    protected void report(Request request, Response response, @Nullable Throwable throwable) {
        int status = response.getStatus();
        if (status < 400 || response.getContentWritten() > 0 || !response.setErrorReported()) {
            return;
        }
        var ioAllowed = new java.util.concurrent.atomic.AtomicBoolean();
        response.getCoyoteResponse().action(ActionCode.IS_IO_ALLOWED, ioAllowed);
        if (!ioAllowed.get()) {
            return;
        }
        byte[] body = answer(status).json().getBytes(StandardCharsets.UTF_8);
        try {
            response.setContentType("application/json");
            response.setContentLength(body.length);
            response.getOutputStream().write(body);
            response.finishResponse();
        } catch (IOException e) {
            request.setAttribute("io.millrace.gateway.unwritten-error", e);
        }
    }

    private static ErrorAnswer answer(int status) {
        ErrorCode code = switch (status) {
            case 401 -> ErrorCode.AUTHENTICATION_REQUIRED;
            case 403 -> ErrorCode.PERMISSION_DENIED;
            case 404 -> ErrorCode.ROUTE_NOT_FOUND;
            case 405 -> ErrorCode.METHOD_NOT_ALLOWED;
            case 413 -> ErrorCode.BODY_TOO_LARGE;
            case 415 -> ErrorCode.UNSUPPORTED_MEDIA_TYPE;
            case 503 -> ErrorCode.SHUTTING_DOWN;
            default -> status < 500 ? ErrorCode.INVALID_REQUEST : ErrorCode.INTERNAL;
        };
        ErrorAnswer answer = ErrorAnswer.of(
                new MillraceException(code, "The server refused the request with HTTP status " + status + "."));
        return new ErrorAnswer(status, answer.code(), answer.message(), null, answer.retryAfterSeconds());
    }
}
