package io.millrace.startup.arrival;

import java.io.IOException;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.coyote.ActionCode;
import org.apache.coyote.InputBuffer;
import org.apache.coyote.Request;
import org.apache.tomcat.util.net.ApplicationBufferHandler;
import org.apache.tomcat.util.net.NioChannel;
import org.apache.tomcat.util.net.SocketWrapperBase;

/// A request's body on its way to whoever reads it. All of it has to be there in time, however it trickles; the server
/// itself bounds only the time between two pieces.
final class TimedInput implements InputBuffer {
    private final InputBuffer input;
    private final SocketWrapperBase<NioChannel> socket;
    private final SocketChannel channel;
    private final long usualMillis;
    private volatile long endNanos;
    private volatile boolean complete;

    TimedInput(InputBuffer input, SocketWrapperBase<NioChannel> socket, Duration limit) {
        this.input = input;
        this.socket = socket;
        this.channel = socket.getSocket().getIOChannel();
        this.usualMillis = socket.getReadTimeout();
        this.endNanos = System.nanoTime() + limit.toNanos();
    }

    void endWithin(Duration limit) {
        long end = System.nanoTime() + limit.toNanos();
        if (end - endNanos < 0) {
            endNanos = end;
        }
    }

    /// @throws SocketTimeoutException  if it is too late
    @Override
    public int doRead(ApplicationBufferHandler handler) throws IOException {
        if (complete) {
            return input.doRead(handler);
        }
        long leftNanos = endNanos - System.nanoTime();
        if (leftNanos <= 0) {
            throw new SocketTimeoutException();
        }
        socket.setReadTimeout(Math.max(1, TimeUnit.NANOSECONDS.toMillis(leftNanos)));
        int count = input.doRead(handler);
        if (count < 0) {
            complete = true;
            release();
        }
        return count;
    }

    @Override
    public int available() {
        return input.available();
    }

    /// Ends what is under way: whoever reads it finds that the client sends no more. Answers still reach the client.
    void cut() {
        if (!complete) {
            try {
                channel.shutdownInput();
            } catch (IOException _) {
                // It is closed: nothing is under way any more.
            }
        }
    }

    /// Reads what nobody wanted, in the same time, so that the connection can be used again.
    ///
    /// @param mostBytes  more are not worth it; -1: no limit
    void skipRest(Request request, int mostBytes) {
        if (isRead(request) || is(request, ActionCode.IS_ERROR) || is(request, ActionCode.ASYNC_IS_ASYNC)) {
            return;
        }
        // A client that was refused before it was told to go on sends no body.
        if (request.hasExpectation() || !isSkipped(request, mostBytes)) {
            request.action(ActionCode.DISABLE_SWALLOW_INPUT, null);
        }
    }

    private static boolean isSkipped(Request request, int mostBytes) {
        Skipped skipped = new Skipped();
        try {
            long bytes = 0;
            for (int count = request.doRead(skipped); count >= 0; count = request.doRead(skipped)) {
                bytes += count;
                if (mostBytes >= 0 && bytes > mostBytes) {
                    return false;
                }
            }
            return true;
        } catch (IOException _) {
            return false;
        }
    }

    /// Whether nothing of a request is left to be read.
    static boolean isRead(Request request) {
        return is(request, ActionCode.REQUEST_BODY_FULLY_READ);
    }

    private static boolean is(Request request, ActionCode question) {
        AtomicBoolean answer = new AtomicBoolean();
        request.action(question, answer);
        return answer.get();
    }

    /// Gives the connection back as it was.
    void release() {
        socket.setReadTimeout(usualMillis);
    }

    /// Keeps nothing.
    private static final class Skipped implements ApplicationBufferHandler {
        private ByteBuffer last = EMPTY_BUFFER;

        @Override
        public void setByteBuffer(ByteBuffer buffer) {
            last = buffer;
        }

        @Override
        public ByteBuffer getByteBuffer() {
            return last;
        }

        @Override
        public void expand(int size) {
            // Nothing is collected.
        }
    }
}
