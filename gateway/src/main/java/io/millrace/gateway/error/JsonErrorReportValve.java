package io.millrace.gateway.error;

import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import jakarta.servlet.ServletRequest;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.Objects;
import java.util.Optional;
import org.apache.catalina.connector.Request;
import org.apache.catalina.connector.Response;
import org.apache.catalina.valves.ErrorReportValve;
import org.apache.coyote.ActionCode;
import org.apache.coyote.http11.AbstractHttp11Protocol;
import org.apache.coyote.http11.Http11InputBuffer;
import org.apache.tomcat.util.http.MimeHeaders;
import org.apache.tomcat.util.res.StringManager;
import org.jspecify.annotations.Nullable;

/// Errors that no route answered (a broken request line, a failing servlet filter) in the same shape as
/// all others.
public final class JsonErrorReportValve extends ErrorReportValve {
    /// Attribute of a request: the [ErrorAnswer] that it gets instead of one told from the status.
    public static final String ANSWER = JsonErrorReportValve.class.getName() + ".ANSWER";

    /// Attribute of a request whose refusal somebody else logs.
    public static final String LOGGED = JsonErrorReportValve.class.getName() + ".LOGGED";

    private final RefusalLog refusals = new RefusalLog(System::nanoTime);

    /// Methods that some route has.
    private static final String SERVED = "GET, HEAD, OPTIONS, POST";

    @Override
    protected void report(Request request, Response response, @Nullable Throwable throwable) {
        int status = given(request).map(ErrorAnswer::status).orElseGet(() -> status(request, response, throwable));
        if (status < 400 || response.getContentWritten() > 0 || !response.setErrorReported()) {
            return;
        }
        var ioAllowed = new java.util.concurrent.atomic.AtomicBoolean();
        response.getCoyoteResponse().action(ActionCode.IS_IO_ALLOWED, ioAllowed);
        if (!ioAllowed.get()) {
            return;
        }
        ErrorAnswer answer = answer(status, request, response);
        if (request.getAttribute(LOGGED) == null) {
            refusals.refusedByServer(
                    request.getMethod(), request.getRequestURI(), request.getLocalPort(), status, answer.code());
        }
        byte[] body = answer.json().getBytes(StandardCharsets.UTF_8);
        try {
            response.setStatus(status);
            if (status == 405 && isServedNowhere(request)) {
                response.setHeader("Allow", SERVED);
            }
            if (answer.retryAfterSeconds() > 0) {
                response.setHeader("Retry-After", Long.toString(answer.retryAfterSeconds()));
            }
            response.setHeader("Connection", "close");
            response.setContentType("application/json");
            response.setContentLength(body.length);
            response.getOutputStream().write(body);
            response.finishResponse();
            if (given(request).isPresent()) {
                // Nobody reads its body: waiting for the rest would hold the connection.
                request.getCoyoteRequest().action(ActionCode.DISABLE_SWALLOW_INPUT, null);
            }
        } catch (IOException e) {
            request.setAttribute("io.millrace.gateway.unwritten-error", e);
        }
    }

    /// The answer that a handler left here, as the container took none from it.
    public static Optional<ErrorAnswer> given(ServletRequest request) {
        return Optional.ofNullable((ErrorAnswer) request.getAttribute(ANSWER));
    }

    private static int status(Request request, Response response, @Nullable Throwable cause) {
        if (isHeadTooLarge(request, cause)) {
            return 431;
        }
        // Tomcat does not know CONNECT; it is known, and served nowhere.
        return response.getStatus() == 501 && "CONNECT".equals(request.getMethod()) ? 405 : response.getStatus();
    }

    /// Tomcat tells this by a 400 whose cause has no type of its own, only its text.
    private static boolean isHeadTooLarge(Request request, @Nullable Throwable cause) {
        if (cause == null) {
            return false;
        }
        String count = StringManager.getManager(MimeHeaders.class)
                .getString("headers.maxCountFail", protocol(request).getMaxHeaderCount());
        String size = StringManager.getManager(Http11InputBuffer.class).getString("iib.requestheadertoolarge.error");
        return size.equals(cause.getMessage()) || count.equals(cause.getMessage());
    }

    private static AbstractHttp11Protocol<?> protocol(Request request) {
        if (request.getConnector().getProtocolHandler() instanceof AbstractHttp11Protocol<?> protocol) {
            return protocol;
        }
        throw new IllegalStateException("connector: " + request.getConnector().getProtocolHandlerClassName()
                + " (expected: an HTTP/1.1 protocol)");
    }

    private static ErrorAnswer answer(int status, Request request, Response response) {
        Optional<ErrorAnswer> given = given(request);
        if (given.isPresent()) {
            return given.get();
        }
        ErrorCode code = switch (status) {
            case 401 -> ErrorCode.AUTHENTICATION_REQUIRED;
            case 403 -> ErrorCode.PERMISSION_DENIED;
            case 404 -> ErrorCode.ROUTE_NOT_FOUND;
            case 405 -> ErrorCode.METHOD_NOT_ALLOWED;
            case 413 -> ErrorCode.BODY_TOO_LARGE;
            case 431 -> ErrorCode.HEADERS_TOO_LARGE;
            case 415 -> ErrorCode.UNSUPPORTED_MEDIA_TYPE;
            case 503 -> ErrorCode.SHUTTING_DOWN;
            case 501, 505 -> ErrorCode.INVALID_REQUEST;
            default -> status < 500 ? ErrorCode.INVALID_REQUEST : ErrorCode.INTERNAL;
        };
        ErrorAnswer answer = ErrorAnswer.of(new MillraceException(code, message(status, request, response)));
        return new ErrorAnswer(status, answer.code(), answer.message(), null, answer.retryAfterSeconds());
    }

    private static String message(int status, Request request, Response response) {
        return switch (status) {
            case 400 ->
                "request line or headers: malformed (expected: a method, a valid path and HTTP/1.1; "
                        + "one valid Host; no contradictory lengths)";
            case 404 -> asked(request, " ") + ": no such route on this port";
            case 405 ->
                "HTTP method: " + asked(request, " on ") + " (expected: "
                        + (isServedNowhere(request)
                                ? SERVED
                                : Objects.requireNonNullElse(response.getHeader("Allow"), "another"))
                        + ")";
            case 431 ->
                "request line and headers: too large (expected: at most "
                        + protocol(request).getMaxHttpRequestHeaderSize() + " bytes and "
                        + protocol(request).getMaxHeaderCount() + " headers)";
            case 417 -> header(request, "Expect") + " (expected: 100-continue or none)";
            case 501 -> header(request, "Transfer-Encoding") + " (expected: chunked or none)";
            case 505 -> "HTTP version: " + ErrorAnswer.shown(request.getProtocol()) + " (expected: HTTP/1.1)";
            default -> "The server refused the request with HTTP status " + status + ".";
        };
    }

    /// Methods that no route has; Tomcat answers them itself.
    private static boolean isServedNowhere(Request request) {
        return "CONNECT".equals(request.getMethod()) || "TRACE".equals(request.getMethod());
    }

    /// A header, whose lines count as one.
    private static String header(Request request, String name) {
        return name + ": " + ErrorAnswer.shown(String.join(", ", Collections.list(request.getHeaders(name))));
    }

    private static String asked(Request request, String between) {
        return ErrorAnswer.shown(request.getMethod()) + between + ErrorAnswer.shown(request.getRequestURI());
    }
}
