package io.millrace.startup;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;

/// Why a port could not be listened on.
public final class BindFailure {
    private BindFailure() {}

    /// Whether somebody else listens there, rather than that this user may not. The reason is known by its text alone,
    /// which is in the language of the process: so it is compared with that of a port which is taken for certain.
    ///
    /// @param failure  what binding the port ended with, to an address that can be bound
    public static boolean isPortTaken(IOException failure) {
        String taken = reasonOfATakenPort();
        return taken.isEmpty() || taken.equals(failure.getMessage());
    }

    /// Empty if it cannot be told.
    private static String reasonOfATakenPort() {
        try (ServerSocket first = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
                ServerSocket second = new ServerSocket()) {
            int port = first.getLocalPort();
            return reason(second, new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
        } catch (IOException _) {
            return "";
        }
    }

    private static String reason(ServerSocket socket, InetSocketAddress taken) {
        try {
            socket.bind(taken);
            return "";
        } catch (IOException e) {
            return String.valueOf(e.getMessage());
        }
    }
}
