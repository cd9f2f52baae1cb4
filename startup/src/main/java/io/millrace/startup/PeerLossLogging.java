package io.millrace.startup;

import java.io.IOException;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.springframework.boot.EnvironmentPostProcessor;
import org.springframework.boot.SpringApplication;
import org.springframework.core.env.ConfigurableEnvironment;

/// Calls that end because their peer is gone, which the gRPC server tells as warnings with stack traces: one line each,
/// as whoever killed a process or cut a network expects. Of anything else the trace stays.
final class PeerLossLogging implements EnvironmentPostProcessor {
    private static final String STREAM_ERROR = "Stream Error";
    private static final String HTTP2 = "io.netty.handler.codec.http2.";
    private static final String CLOSED = "Stream closed";

    /// Held, as a logger that nobody holds may go, and its filter with it.
    private static final Logger SERVER = Logger.getLogger("io.grpc.netty.NettyServerHandler");

    @Override
    public void postProcessEnvironment(ConfigurableEnvironment environment, SpringApplication application) {
        SERVER.setFilter(PeerLossLogging::told);
    }

    /// Shortens what is told of a lost peer; nothing is left out.
    static boolean told(LogRecord entry) {
        Throwable thrown = entry.getThrown();
        if (thrown == null || !STREAM_ERROR.equals(entry.getMessage())) {
            return true;
        }
        Throwable cause = thrown;
        while (cause.getCause() != null) {
            cause = cause.getCause();
        }
        boolean lost = cause instanceof IOException
                || String.valueOf(cause.getMessage()).startsWith(CLOSED);
        if (lost || cause.getClass().getName().startsWith(HTTP2)) {
            entry.setThrown(null);
            entry.setMessage((lost ? "a call ended as its peer is gone: " : "a call ended by a fault of its stream: ")
                    + reason(cause));
            entry.setLevel(lost ? Level.INFO : Level.WARNING);
        }
        return true;
    }

    private static String reason(Throwable cause) {
        return cause.getMessage() == null ? cause.getClass().getSimpleName() : cause.getMessage();
    }
}
