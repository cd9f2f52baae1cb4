package io.millrace.startup.arrival;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Optional;
import org.apache.catalina.connector.Connector;
import org.apache.coyote.Adapter;
import org.apache.coyote.http11.Http11NioProtocol;
import org.apache.tomcat.util.net.NioChannel;
import org.apache.tomcat.util.net.SocketWrapperBase;

/// Tomcat's HTTP/1.1 connector with a bound on the time that requests take to arrive. Made by the container.
public class ArrivalProtocol extends Http11NioProtocol {
    private static final byte[] LATE_HEAD =
            "HTTP/1.1 408 \r\nContent-Length: 0\r\nConnection: close\r\n\r\n".getBytes(StandardCharsets.US_ASCII);

    private volatile ArrivalLimits limits = ArrivalLimits.USUAL;
    private volatile Arrivals arrivals = new Arrivals();

    /// Sets up a connector of this protocol.
    ///
    /// @param arrivals  where its requests are found
    public static void bound(Connector connector, ArrivalLimits limits, Arrivals arrivals) {
        if (!(connector.getProtocolHandler() instanceof ArrivalProtocol protocol)) {
            throw new IllegalArgumentException("connector: " + connector.getProtocolHandlerClassName() + " (expected: "
                    + ArrivalProtocol.class.getName() + ")");
        }
        protocol.limits = limits;
        protocol.arrivals = arrivals;
    }

    /// The connection by which the current thread's request came.
    ///
    /// @return none outside a request, and within one of HTTP/2
    public static Optional<SocketWrapperBase<NioChannel>> currentConnection() {
        return HeadWatch.current();
    }

    ArrivalLimits limits() {
        return limits;
    }

    Arrivals arrivals() {
        return arrivals;
    }

    protected final Duration headLimit() {
        return limits.head();
    }

    /// The whole answer to a head that came too late, or not to its end.
    protected byte[] lateHead(SocketWrapperBase<NioChannel> socket) {
        return LATE_HEAD.clone();
    }

    @Override
    public void setAdapter(Adapter adapter) {
        getEndpoint().setHandler(new HeadWatch(getEndpoint().getHandler(), this::lateHead, limits.head()));
        super.setAdapter(new ArrivalAdapter(adapter, this));
    }
}
