package io.millrace.startup.arrival;

import java.util.Optional;
import org.apache.coyote.Adapter;
import org.apache.coyote.InputBuffer;
import org.apache.coyote.Request;
import org.apache.coyote.Response;
import org.apache.tomcat.util.net.NioChannel;
import org.apache.tomcat.util.net.SocketEvent;
import org.apache.tomcat.util.net.SocketWrapperBase;

/// Stands between connector and servlets: a request whose head is there gets its body through a [TimedInput]; but
/// for those of HTTP/2, whose streams the server bounds itself.
final class ArrivalAdapter implements Adapter {
    private final Adapter adapter;
    private final ArrivalProtocol protocol;

    ArrivalAdapter(Adapter adapter, ArrivalProtocol protocol) {
        this.adapter = adapter;
        this.protocol = protocol;
    }

    @Override
    public void service(Request request, Response response) throws Exception {
        Optional<SocketWrapperBase<NioChannel>> socket = HeadWatch.headComplete();
        if (socket.isPresent()) {
            service(request, response, socket.get());
        } else {
            adapter.service(request, response);
        }
    }

    private void service(Request request, Response response, SocketWrapperBase<NioChannel> socket) throws Exception {
        InputBuffer input = request.getInputBuffer();
        TimedInput timed = new TimedInput(input, socket, protocol.limits().body());
        Arrivals arrivals = protocol.arrivals();
        request.setInputBuffer(timed);
        if (!TimedInput.isRead(request)) {
            arrivals.enter(timed);
        }
        try {
            adapter.service(request, response);
            timed.skipRest(request, protocol.getMaxSwallowSize());
        } finally {
            arrivals.leave(timed);
            request.setInputBuffer(input);
            timed.release();
        }
    }

    @Override
    public boolean prepare(Request request, Response response) throws Exception {
        return adapter.prepare(request, response);
    }

    @Override
    public boolean asyncDispatch(Request request, Response response, SocketEvent status) throws Exception {
        return adapter.asyncDispatch(request, response, status);
    }

    @Override
    public void log(Request request, Response response, long timeNanos) {
        adapter.log(request, response, timeNanos);
    }

    @Override
    public void checkRecycled(Request request, Response response) {
        adapter.checkRecycled(request, response);
    }

    @Override
    public String getDomain() {
        return adapter.getDomain();
    }
}
