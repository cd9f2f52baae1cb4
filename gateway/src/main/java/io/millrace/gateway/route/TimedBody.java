package io.millrace.gateway.route;

import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.gateway.connection.ClientConnection;
import jakarta.servlet.http.HttpServletRequest;
import java.io.FilterInputStream;
import java.io.IOException;
import java.net.SocketTimeoutException;
import java.time.Duration;
import java.util.concurrent.TimeUnit;

/// A request's body as it arrives. All of it has to be there in time, however it trickles.
final class TimedBody extends FilterInputStream {
    private final ClientConnection client;
    private final long usualMillis;
    private final long endNanos;
    private long arrivedBytes;

    private TimedBody(HttpServletRequest request, Duration timeout) throws IOException {
        super(request.getInputStream());
        client = ClientConnection.current();
        usualMillis = client.readTimeoutMillis();
        endNanos = System.nanoTime() + timeout.toNanos();
    }

    /// The first bytes of the body, or all there are.
    ///
    /// @throws MillraceException  `body_timeout`, `body_incomplete`
    static byte[] read(HttpServletRequest request, int mostBytes, Duration timeout) {
        long arrivedBytes = 0;
        try (TimedBody body = new TimedBody(request, timeout)) {
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
        long leftNanos = endNanos - System.nanoTime();
        if (leftNanos <= 0) {
            throw new SocketTimeoutException();
        }
        client.readTimeoutMillis(Math.max(1, TimeUnit.NANOSECONDS.toMillis(leftNanos)));
        int count = super.read(target, offset, length);
        arrivedBytes += Math.max(0, count);
        return count;
    }

    /// The container closes the stream itself.
    @Override
    public void close() {
        client.readTimeoutMillis(usualMillis);
    }

    private static MillraceException refused(IOException cause, long arrivedBytes, long length, Duration timeout) {
        boolean late = cause instanceof SocketTimeoutException || cause.getCause() instanceof SocketTimeoutException;
        String expected = length < 0 ? "chunks up to the last, empty one" : "all of them";
        String arrived = (length < 0 ? arrivedBytes + "" : arrivedBytes + " of " + length) + " bytes";
        String found = late
                ? arrived + " within " + text(timeout)
                : (length < 0 ? "unreadable after " : "ended after ") + arrived;
        return new MillraceException(
                late ? ErrorCode.BODY_TIMEOUT : ErrorCode.BODY_INCOMPLETE,
                "request body: " + found + " (expected: " + expected + ")",
                cause);
    }

    private static String text(Duration timeout) {
        long millis = timeout.toMillis();
        return millis % 1000 == 0 ? millis / 1000 + " s" : millis + " ms";
    }
}
