package io.millrace.gateway.connection;

import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.gateway.error.ErrorAnswer;
import io.millrace.gateway.error.RefusalLog;
import io.millrace.startup.arrival.ArrivalProtocol;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.apache.tomcat.util.net.NioChannel;
import org.apache.tomcat.util.net.SocketWrapperBase;

/// Tomcat's HTTP/1.1 connector that tells clients and log of heads that came too late as of other errors.
public final class GatewayProtocol extends ArrivalProtocol {
    private final RefusalLog refusals = new RefusalLog(System::nanoTime);

    public GatewayProtocol() {
        // A client that asks before it sends its body is told to go on only when somebody reads it.
        setContinueResponseTiming("onRead");
    }

    @Override
    protected byte[] lateHead(SocketWrapperBase<NioChannel> socket) {
        ErrorAnswer answer = ErrorAnswer.of(new MillraceException(
                ErrorCode.HEADERS_TIMEOUT,
                "request line and headers: incomplete (expected: up to the empty line within "
                        + ErrorAnswer.shown(headLimit()) + ")"));
        refusals.refusedByServer(null, null, socket.getLocalPort(), answer.status(), answer.code());
        byte[] body = answer.json().getBytes(StandardCharsets.UTF_8);
        byte[] head = ("HTTP/1.1 " + answer.status() + " \r\nContent-Type: application/json\r\nContent-Length: "
                        + body.length + "\r\nConnection: close\r\n\r\n")
                .getBytes(StandardCharsets.US_ASCII);
        byte[] whole = Arrays.copyOf(head, head.length + body.length);
        System.arraycopy(body, 0, whole, head.length, body.length);
        return whole;
    }
}
