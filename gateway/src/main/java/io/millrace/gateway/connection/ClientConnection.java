package io.millrace.gateway.connection;

import io.millrace.startup.arrival.ArrivalProtocol;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import org.apache.tomcat.util.net.NioChannel;
import org.apache.tomcat.util.net.SocketWrapperBase;
import org.jspecify.annotations.Nullable;

/// The connection of the request being handled. A handler that waits for tokens asks from time to time whether anybody
/// is still there: HTTP/1.1 tells nobody that a client hung up until something is written, and a non-streaming answer
/// writes nothing before its end.
///
/// A client that ends its sending side may have gone or may still read: only what is written then tells.
///
/// Only the request's own thread may ask, as only then nobody else reads the socket.
public final class ClientConnection {
    private final @Nullable SocketWrapperBase<NioChannel> socket;
    private boolean readable = true;
    private Presence presence = Presence.THERE;

    /// What is known of the client.
    public enum Presence {
        THERE,
        /// It sends no more, so it has gone or only reads.
        SILENT,
        GONE
    }

    private ClientConnection(@Nullable SocketWrapperBase<NioChannel> socket) {
        this.socket = socket;
    }

    /// The connection behind the current thread's request; outside a request one that always counts as open.
    public static ClientConnection current() {
        return new ClientConnection(ArrivalProtocol.currentConnection().orElse(null));
    }

    /// Ends it: whoever waits for the client to read or to send waits no longer. Any thread may.
    public void cut() {
        if (socket == null) {
            return;
        }
        try {
            SocketChannel channel = socket.getSocket().getIOChannel();
            channel.shutdownInput();
            channel.shutdownOutput();
        } catch (IOException _) {
            // It has ended.
        }
    }

    /// False once the client sends no more. Where nothing can be written yet, so that nobody could tell a client that
    /// only reads from one that is gone, it counts as gone.
    public boolean isOpen() {
        return presence() == Presence.THERE;
    }

    public Presence presence() {
        if (socket == null || presence != Presence.THERE || !readable) {
            return presence;
        }
        ByteBuffer peeked = ByteBuffer.allocate(1);
        try {
            int count = socket.read(false, peeked);
            if (count < 0) {
                presence = Presence.SILENT;
            } else if (count > 0) {
                // The next request of a pipelining client: given back, and from here on only a failed write tells.
                peeked.flip();
                socket.unRead(peeked);
                readable = false;
            }
        } catch (EOFException _) {
            presence = Presence.SILENT;
        } catch (IOException _) {
            presence = Presence.GONE;
        }
        return presence;
    }
}
