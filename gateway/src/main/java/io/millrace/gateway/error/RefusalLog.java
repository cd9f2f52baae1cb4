package io.millrace.gateway.error;

import io.millrace.rpc.LineLimit;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/// One line for each refused request, and no more than [#LINES_A_MINUTE]: whoever floods the gateway with requests that
/// it refuses cannot fill a disk. How many went without one the first line after that minute tells. Never anything of a
/// body, nor of a query.
public final class RefusalLog {
    public static final int LINES_A_MINUTE = 60;
    private static final Logger log = LoggerFactory.getLogger(RefusalLog.class);

    private final LineLimit limit;

    /// @param nanos  a clock that never goes back
    public RefusalLog(LongSupplier nanos) {
        this.limit = new LineLimit(LINES_A_MINUTE, nanos);
    }

    /// @param id       the one the client knows
    /// @param outcome  a clause about the error
    public void refused(String id, String method, String path, int status, String outcome) {
        tell(() -> log.info("request {}: {} refused with {}{}", id, asked(method, path), status, outcome));
    }

    /// Of a request that the web server refused by itself, so that it has no id.
    ///
    /// @param method  null if it could not be read
    public void refusedByServer(@Nullable String method, @Nullable String path, int port, int status, String code) {
        String what = method == null || path == null ? "what is no HTTP request" : asked(method, path);
        tell(() -> log.info("without id: {} on port {} refused with {}, {}", what, port, status, code));
    }

    private static String asked(String method, String path) {
        return ErrorAnswer.shown(method) + " " + ErrorAnswer.shown(path);
    }

    private void tell(Runnable line) {
        limit.tell(
                unsaid -> log.info(
                        "{} more requests were refused, more than {} a minute have no line each",
                        unsaid,
                        LINES_A_MINUTE),
                line);
    }
}
