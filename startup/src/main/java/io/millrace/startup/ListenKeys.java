package io.millrace.startup;

import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.UnknownHostException;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.context.event.ApplicationContextInitializedEvent;
import org.springframework.context.ApplicationListener;
import org.springframework.core.env.Environment;

/// A look at the ports a service is to listen on, before anything is loaded for it: one that is taken is told
/// at once, with the key that sets it. It may still be taken between this look and the start; then the
/// framework says so in its own words.
final class ListenKeys implements ApplicationListener<ApplicationContextInitializedEvent> {
    private static final String MANAGEMENT = "management.server";
    private static final String REST = "server";
    private static final String RPC = "spring.grpc.server";
    private static final String PORT = ".port";
    private static final int MAX_PORT = 65_535;

    @Override
    public void onApplicationEvent(ApplicationContextInitializedEvent event) {
        boolean isWeb = event.getSpringApplication().getWebApplicationType() != WebApplicationType.NONE;
        check(event.getApplicationContext().getEnvironment(), isWeb);
    }

    /// @param isWeb  whether it listens for HTTP at all
    /// @throws MillraceException naming the key at fault
    static void check(Environment settings, boolean isWeb) {
        if (isWeb) {
            check(settings, REST);
            // With the same port it is the same listener.
            if (!port(settings, MANAGEMENT).equals(port(settings, REST))) {
                check(settings, MANAGEMENT);
            }
        }
        if (settings.getProperty(RPC + ".enabled", Boolean.class, true)) {
            check(settings, RPC);
            Optional<Integer> port = port(settings, RPC);
            if (isWeb && port.isPresent() && port.get() > 0 && port.equals(port(settings, REST))) {
                throw refused(RPC + PORT + ": " + port.get() + " is that of server.port (expected: another)", null);
            }
        }
    }

    private static void check(Environment settings, String section) {
        Optional<Integer> set = port(settings, section);
        if (set.isEmpty() || set.get() < 0) {
            return;
        }
        int port = set.get();
        if (port > MAX_PORT) {
            throw refused(section + PORT + ": " + port + " (expected: 0.." + MAX_PORT + ")", null);
        }
        @Nullable InetAddress address = address(settings, section);
        try {
            bind(address, 0);
        } catch (IOException e) {
            throw refused(
                    section + ".address: " + settings.getProperty(section + ".address")
                            + " (expected: an address of this machine, or none for all)",
                    e);
        }
        try {
            bind(address, port);
        } catch (IOException e) {
            String why = BindFailure.isPortTaken(e)
                    ? " is in use (expected: a free port)"
                    : " may not be listened on by this user (expected: 1024 or more)";
            throw refused(section + PORT + ": " + port + why, e);
        }
    }

    /// Empty where nothing is set.
    private static Optional<Integer> port(Environment settings, String section) {
        String port = settings.getProperty(section + PORT);
        if (port == null || port.isBlank()) {
            return Optional.empty();
        }
        try {
            return Optional.of(Integer.valueOf(port.strip()));
        } catch (NumberFormatException e) {
            throw refused(section + PORT + ": \"" + port + "\" (expected: 0.." + MAX_PORT + ")", e);
        }
    }

    /// Null for all addresses, and for a name that is the framework's to refuse.
    private static @Nullable InetAddress address(Environment settings, String section) {
        String address = settings.getProperty(section + ".address");
        if (address == null || address.isBlank() || address.equals("*")) {
            return null;
        }
        try {
            return InetAddress.getByName(address);
        } catch (UnknownHostException e) {
            throw refused(section + ".address: " + address + " (expected: an address of this machine)", e);
        }
    }

    private static void bind(@Nullable InetAddress address, int port) throws IOException {
        try (ServerSocket probe = new ServerSocket()) {
            probe.setReuseAddress(true);
            probe.bind(new InetSocketAddress(address, port));
        }
    }

    private static MillraceException refused(String sentence, @Nullable Exception cause) {
        return new MillraceException(ErrorCode.INVALID_REQUEST, sentence, cause);
    }
}
