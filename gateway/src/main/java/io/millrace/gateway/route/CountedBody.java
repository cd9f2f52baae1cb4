package io.millrace.gateway.route;

import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.gateway.error.ErrorAnswer;
import jakarta.servlet.http.HttpServletRequest;
import java.io.FilterInputStream;
import java.io.IOException;
import java.net.SocketTimeoutException;
import java.time.Duration;

/// A request's body as it arrives, with what errors tell of it. The connector sees to it that all of it is there in
/// time.
final class CountedBody extends FilterInputStream {
    private long arrivedBytes;

    private CountedBody(HttpServletRequest request) throws IOException {
        super(request.getInputStream());
    }

    /// The first bytes of the body, or all there are.
    ///
    /// @param timeout  the connector's
    /// @throws MillraceException  `body_timeout`, `body_incomplete`
    static byte[] read(HttpServletRequest request, int mostBytes, Duration timeout) {
        long arrivedBytes = 0;
        try (CountedBody body = new CountedBody(request)) {
            try {
                return body.readNBytes(mostBytes);
            } finally {
                arrivedBytes = body.arrivedBytes;
            }
        } catch (IOException e) {
            throw refused(e, arrivedBytes, request.getContentLengthLong(), timeout);
        }
    }

    @Override
    public int read() throws IOException {
        byte[] one = new byte[1];
        return read(one, 0, 1) < 0 ? -1 : one[0] & 0xFF;
    }

    @Override
    public int read(byte[] target, int offset, int length) throws IOException {
        int count = super.read(target, offset, length);
        arrivedBytes += Math.max(0, count);
        return count;
    }

    @Override
    public void close() {
        // The container closes the stream itself.
    }

    private static MillraceException refused(IOException cause, long arrivedBytes, long length, Duration timeout) {
        boolean late = cause instanceof SocketTimeoutException || cause.getCause() instanceof SocketTimeoutException;
        String expected = length < 0 ? "chunks up to the last, empty one" : "all of them";
        String arrived = (length < 0 ? arrivedBytes + "" : arrivedBytes + " of " + length) + " bytes";
        String found = late
                ? arrived + " within " + ErrorAnswer.shown(timeout)
                : (length < 0 ? "unreadable after " : "ended after ") + arrived;
        return new MillraceException(
                late ? ErrorCode.BODY_TIMEOUT : ErrorCode.BODY_INCOMPLETE,
                "request body: " + found + " (expected: " + expected + ")",
                cause);
    }
}
