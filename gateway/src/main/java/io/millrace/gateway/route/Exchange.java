package io.millrace.gateway.route;

import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.gateway.connection.ClientConnection;
import io.millrace.gateway.generation.Generation;
import jakarta.servlet.http.HttpServletRequest;
import java.util.List;
import java.util.UUID;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.springframework.web.servlet.function.ServerRequest;

/// One HTTP request on its way through the gateway: its ids, what it runs, what became of it.
final class Exchange {
    private static final String ATTRIBUTE = Exchange.class.getName();
    private static final Pattern CLIENT_ID = Pattern.compile("[A-Za-z0-9._:-]{1,128}");

    private final String clientId;
    private final String internalId = UUID.randomUUID().toString().replace("-", "");
    private final long startNanos = System.nanoTime();
    private final ClientConnection client = ClientConnection.current();
    private @Nullable Generation generation;
    private @Nullable MillraceException stopped;
    private List<String> ignoredFields = List.of();
    private String outcome = "";
    private boolean arrived;
    private boolean brokenOff;

    private Exchange(String clientId, boolean arrived) {
        this.clientId = clientId;
        this.arrived = arrived;
    }

    /// Begins an exchange, on the thread of its request.
    ///
    /// @param requestedId  the client's X-Request-Id: taken over if it is harmless
    static Exchange begin(HttpServletRequest request, @Nullable String requestedId) {
        String clientId = requestedId != null && CLIENT_ID.matcher(requestedId).matches()
                ? requestedId
                : UUID.randomUUID().toString();
        boolean hasBody = request.getContentLengthLong() > 0 || request.getHeader("Transfer-Encoding") != null;
        Exchange exchange = new Exchange(clientId, !hasBody);
        request.setAttribute(ATTRIBUTE, exchange);
        return exchange;
    }

    static Exchange of(ServerRequest request) {
        if (request.servletRequest().getAttribute(ATTRIBUTE) instanceof Exchange exchange) {
            return exchange;
        }
        throw new IllegalStateException("exchange: missing (expected: begun by the servlet filter)");
    }

    /// The id the client knows.
    String clientId() {
        return clientId;
    }

    /// Unique whatever clients send: names leases.
    String internalId() {
        return internalId;
    }

    long elapsedMillis() {
        return (System.nanoTime() - startNanos) / 1_000_000;
    }

    /// Fields of the body that had no effect, as nobody knows them; fit for a header.
    void ignoredFields(List<String> names) {
        ignoredFields = List.copyOf(names);
    }

    List<String> ignoredFields() {
        return ignoredFields;
    }

    synchronized void running(Generation started) {
        generation = started;
        if (stopped != null) {
            started.close();
        }
    }

    synchronized boolean hasGeneration() {
        return generation != null;
    }

    /// All of its body is there.
    synchronized void arrive() {
        arrived = true;
    }

    /// Whether it is work under way, and not still on its way to the gateway.
    synchronized boolean hasArrived() {
        return arrived;
    }

    /// Its body will never be there.
    synchronized void breakOff() {
        brokenOff = true;
    }

    synchronized boolean isBrokenOff() {
        return brokenOff;
    }

    /// As [#stop], unless all of its body is there.
    synchronized void stopUnlessArrived(ErrorCode code, String message) {
        if (!arrived) {
            stop(code, message);
        }
    }

    /// Ends it from outside: whoever works on it is to answer with this error. The first one counts.
    synchronized void stop(ErrorCode code, String message) {
        if (stopped == null) {
            stopped = new MillraceException(code, message);
            end();
        }
    }

    /// Ends its connection: it has been stopped, and its client does not take the answer.
    void cut() {
        client.cut();
    }

    /// @throws MillraceException  the error it was stopped with
    synchronized void requireOngoing() {
        if (stopped != null) {
            throw stopped;
        }
    }

    /// One clause for the log: counts and names, never text of a prompt or an answer.
    void outcome(String clause) {
        outcome = clause;
    }

    String outcome() {
        return outcome;
    }

    /// Ends whatever still runs.
    synchronized void end() {
        if (generation != null) {
            generation.close();
        }
    }
}
