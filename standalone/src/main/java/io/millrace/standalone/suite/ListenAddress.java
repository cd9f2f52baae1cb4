package io.millrace.standalone.suite;

import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.startup.BindFailure;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.UnknownHostException;
import org.jspecify.annotations.Nullable;

/// A look at where the REST surface is to listen, before anything is loaded for it.
final class ListenAddress {
    private ListenAddress() {}

    /// @param port  0 for any free one
    /// @throws IllegalArgumentException  if the host is no address of this machine
    /// @throws MillraceException         if the port is in use or not allowed
    static void require(String host, int port) {
        InetAddress address = resolve(host);
        try {
            bind(address, 0);
        } catch (IOException e) {
            throw notOurs(host, e);
        }
        if (port == 0) {
            return;
        }
        try {
            bind(address, port);
        } catch (IOException e) {
            if (BindFailure.isPortTaken(e)) {
                throw portInUse(port, e);
            }
            String sentence =
                    "port " + port + " may not be listened on by this user (expected: 1024 or more; use" + " --port N)";
            throw new MillraceException(ErrorCode.INVALID_REQUEST, sentence, "port", 0, e);
        }
    }

    private static InetAddress resolve(String host) {
        if (host.isBlank()) {
            throw notOurs("\"\"", null);
        }
        try {
            return InetAddress.getByName(host);
        } catch (UnknownHostException e) {
            throw notOurs(host, e);
        }
    }

    private static void bind(InetAddress address, int port) throws IOException {
        try (ServerSocket probe = new ServerSocket()) {
            probe.setReuseAddress(true);
            probe.bind(new InetSocketAddress(address, port));
        }
    }

    private static IllegalArgumentException notOurs(String host, @Nullable IOException cause) {
        return new IllegalArgumentException(
                "--host: " + host + " (expected: an address of this machine, 127.0.0.1, or 0.0.0.0 for all)", cause);
    }

    static MillraceException portInUse(int port, Exception cause) {
        String sentence = "port " + port + " is in use (expected: a free port; use --port N)";
        return new MillraceException(ErrorCode.INVALID_REQUEST, sentence, "port", 0, cause);
    }
}
