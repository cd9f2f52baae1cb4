package io.millrace.gateway.route;

import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.gateway.error.ErrorAnswer;
import io.millrace.gateway.json.JsonFields;
import io.millrace.gateway.json.StrictJson;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.springframework.http.InvalidMediaTypeException;
import org.springframework.http.MediaType;
import org.springframework.web.servlet.function.ServerRequest;

/// Reads request bodies: JSON in UTF-8 of a bounded size, there in a bounded time.
///
/// @param maxBytes  largest body
/// @param timeout   from the request's head to its last byte
record JsonBody(int maxBytes, Duration timeout) {

    JsonFields read(ServerRequest request) {
        requireJson(request);
        if (request.servletRequest().getContentLengthLong() > maxBytes) {
            throw tooLarge();
        }
        byte[] bytes = arrived(request);
        if (bytes.length > maxBytes) {
            throw tooLarge();
        }
        return JsonFields.of(StrictJson.readObject(bytes));
    }

    /// @throws MillraceException  why it did not arrive; which may be that the gateway ends
    private byte[] arrived(ServerRequest request) {
        Exchange exchange = Exchange.of(request);
        try {
            byte[] bytes = CountedBody.read(request.servletRequest(), maxBytes + 1, timeout);
            exchange.arrive();
            return bytes;
        } catch (MillraceException e) {
            exchange.breakOff();
            exchange.requireOngoing();
            throw e;
        }
    }

    private static void requireJson(ServerRequest request) {
        Optional<MediaType> type;
        try {
            type = request.headers().contentType();
        } catch (InvalidMediaTypeException _) {
            type = Optional.empty();
        }
        boolean json = type.isPresent()
                && type.get().equalsTypeAndSubtype(MediaType.APPLICATION_JSON)
                && (type.get().getCharset() == null
                        || StandardCharsets.UTF_8.equals(type.get().getCharset()));
        if (!json) {
            throw unsupported(request.servletRequest().getHeader("Content-Type"));
        }
        String encoding = request.headers().firstHeader("Content-Encoding");
        if (encoding != null && !encoding.equalsIgnoreCase("identity")) {
            throw new MillraceException(
                    ErrorCode.UNSUPPORTED_MEDIA_TYPE,
                    "Content-Encoding: " + ErrorAnswer.shown(encoding) + " (expected: no compression)");
        }
    }

    static MillraceException unsupported(@Nullable String contentType) {
        return new MillraceException(
                ErrorCode.UNSUPPORTED_MEDIA_TYPE,
                "Content-Type: " + ErrorAnswer.shown(contentType) + " (expected: application/json in UTF-8)");
    }

    private MillraceException tooLarge() {
        return new MillraceException(
                ErrorCode.BODY_TOO_LARGE, "The request body is larger than the limit of " + maxBytes + " bytes.");
    }
}
