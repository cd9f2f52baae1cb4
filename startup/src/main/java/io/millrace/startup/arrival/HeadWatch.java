package io.millrace.startup.arrival;

import java.io.IOException;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.apache.coyote.Processor;
import org.apache.tomcat.util.net.AbstractEndpoint;
import org.apache.tomcat.util.net.NioChannel;
import org.apache.tomcat.util.net.SocketEvent;
import org.apache.tomcat.util.net.SocketWrapperBase;

/// Sees to it that heads of requests arrive in a bounded time. The server itself bounds only the time between two
/// bytes. A head that comes too late, or stops, is answered, and its connection closed.
///
/// The server processes a connection by one thread at a time, under the connection's lock, and so does this class. The
/// server's own look at idle connections, which ends those whose read timeout is over, comes by the same way.
final class HeadWatch implements AbstractEndpoint.Handler<NioChannel> {
    private static final ScopedValue<Turn> CURRENT = ScopedValue.newInstance();

    private final AbstractEndpoint.Handler<NioChannel> handler;
    private final Function<SocketWrapperBase<NioChannel>, byte[]> lateAnswer;
    private final Map<SocketWrapperBase<NioChannel>, Head> underWay = new ConcurrentHashMap<>();
    private final long limitNanos;

    /// A head of which some bytes have arrived.
    ///
    /// @param usualMillis  the connection's read timeout when there is no such head
    private record Head(long begunNanos, long usualMillis) {}

    /// What a connection is given a thread for.
    private static final class Turn {
        private final SocketWrapperBase<NioChannel> socket;
        private boolean hadHead;

        Turn(SocketWrapperBase<NioChannel> socket) {
            this.socket = socket;
        }
    }

    /// @param lateAnswer  makes the bytes that a client gets whose head is late
    HeadWatch(
            AbstractEndpoint.Handler<NioChannel> handler,
            Function<SocketWrapperBase<NioChannel>, byte[]> lateAnswer,
            Duration limit) {
        this.handler = handler;
        this.lateAnswer = lateAnswer;
        this.limitNanos = limit.toNanos();
    }

    /// The head that the current thread read is complete.
    ///
    /// @return the connection that it came by; none if it is a stream of HTTP/2
    static Optional<SocketWrapperBase<NioChannel>> headComplete() {
        if (!CURRENT.isBound()) {
            return Optional.empty();
        }
        Turn turn = CURRENT.get();
        turn.hadHead = true;
        return Optional.of(turn.socket);
    }

    /// The connection that the current thread processes, see [ArrivalProtocol#currentConnection].
    static Optional<SocketWrapperBase<NioChannel>> current() {
        return CURRENT.isBound() ? Optional.of(CURRENT.get().socket) : Optional.empty();
    }

    @Override
    public SocketState process(SocketWrapperBase<NioChannel> socket, SocketEvent status) {
        Head head = underWay.remove(socket);
        if (head != null) {
            socket.setReadTimeout(head.usualMillis);
            if (status == SocketEvent.ERROR) {
                return end(socket);
            }
        }
        Turn turn = new Turn(socket);
        SocketState state = ScopedValue.where(CURRENT, turn).call(() -> handler.process(socket, status));
        if (!isHeadUnderWay(socket, status, state, turn)) {
            return state;
        }
        long now = System.nanoTime();
        long begun = head == null || turn.hadHead ? now : head.begunNanos;
        long leftNanos = limitNanos - (now - begun);
        if (leftNanos <= 0) {
            return end(socket);
        }
        underWay.put(socket, new Head(begun, socket.getReadTimeout()));
        socket.setReadTimeout(Math.max(1, TimeUnit.NANOSECONDS.toMillis(leftNanos)));
        if (socket.isClosed()) {
            // By the server, which ends; nobody else would forget it.
            underWay.remove(socket);
        }
        return state;
    }

    /// Empty lines before a head count as its begin, as does the end of a TLS handshake; the server holds such a
    /// connection for idle.
    private static boolean isHeadUnderWay(
            SocketWrapperBase<NioChannel> socket, SocketEvent status, SocketState state, Turn turn) {
        return switch (state) {
            case LONG -> socket.getCurrentProcessor() instanceof Processor processor && !processor.isAsync();
            case OPEN -> status == SocketEvent.OPEN_READ && !turn.hadHead;
            default -> false;
        };
    }

    private SocketState end(SocketWrapperBase<NioChannel> socket) {
        byte[] answer = lateAnswer.apply(socket);
        try {
            socket.write(false, answer, 0, answer.length);
            socket.flush(false);
        } catch (IOException _) {
            // Nobody is there to read it.
        }
        return handler.process(socket, SocketEvent.ERROR);
    }

    @Override
    public Object getGlobal() {
        return handler.getGlobal();
    }

    @Override
    public void release(SocketWrapperBase<NioChannel> socket) {
        underWay.remove(socket);
        handler.release(socket);
    }

    @Override
    public void pause() {
        handler.pause();
    }

    @Override
    public void recycle() {
        handler.recycle();
    }
}
