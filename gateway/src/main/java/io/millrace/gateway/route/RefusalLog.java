package io.millrace.gateway.route;

import io.millrace.gateway.error.ErrorAnswer;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/// One line for each refused request, and no more than [#LINES_A_MINUTE]: whoever floods the gateway with requests that
/// it refuses cannot fill a disk. How many went without one the first line after that minute tells. Never anything of a
/// body, nor of a query.
final class RefusalLog {
    static final int LINES_A_MINUTE = 60;
    private static final Logger log = LoggerFactory.getLogger(RefusalLog.class);

    private final LongSupplier nanos;
    private long minute = Long.MIN_VALUE;
    private int lines;
    private long unsaid;

    /// @param nanos  a clock that never goes back
    RefusalLog(LongSupplier nanos) {
        this.nanos = nanos;
    }

    /// @param id       the one the client knows
    /// @param outcome  a clause about the error
    void refused(String id, String method, String path, int status, String outcome) {
        long left = begin();
        if (left > 0) {
            log.info("{} more requests were refused, more than {} a minute have no line each", left, LINES_A_MINUTE);
        }
        if (left >= 0) {
            log.info(
                    "request {}: {} {} refused with {}{}",
                    id,
                    ErrorAnswer.shown(method),
                    ErrorAnswer.shown(path),
                    status,
                    outcome);
        }
    }

    /// @return how many went without a line in minutes that are over; less than 0 if this one is to do so, too
    private synchronized long begin() {
        long now = Math.floorDiv(nanos.getAsLong(), TimeUnit.MINUTES.toNanos(1));
        if (now != minute) {
            minute = now;
            lines = 0;
        }
        if (lines == LINES_A_MINUTE) {
            unsaid++;
            return -1;
        }
        lines++;
        long left = unsaid;
        unsaid = 0;
        return left;
    }
}
