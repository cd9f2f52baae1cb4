package io.millrace.gateway.connection;

import org.apache.coyote.http11.Http11NioProtocol;
import org.apache.tomcat.util.net.AbstractEndpoint;
import org.apache.tomcat.util.net.NioChannel;
import org.apache.tomcat.util.net.SocketEvent;
import org.apache.tomcat.util.net.SocketWrapperBase;

/// Tomcat's HTTP/1.1 connector that lets a request's thread see its own socket, see [ClientConnection].
public final class ObservedHttp11Protocol extends Http11NioProtocol {
    public ObservedHttp11Protocol() {
        getEndpoint().setHandler(new ObservingHandler(getEndpoint().getHandler()));
        // A client that asks before it sends its body is told to go on only when somebody reads it.
        setContinueResponseTiming("onRead");
    }

    private record ObservingHandler(AbstractEndpoint.Handler<NioChannel> handler)
            implements AbstractEndpoint.Handler<NioChannel> {
        @Override
        public SocketState process(SocketWrapperBase<NioChannel> socket, SocketEvent status) {
            return ScopedValue.where(ClientConnection.CURRENT, socket).call(() -> handler.process(socket, status));
        }

        @Override
        public Object getGlobal() {
            return handler.getGlobal();
        }

        @Override
        public void release(SocketWrapperBase<NioChannel> socketWrapper) {
            handler.release(socketWrapper);
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
}
