package io.millrace.rpc;

import io.grpc.Context;
import io.grpc.Deadline;
import io.grpc.StatusRuntimeException;
import io.micrometer.core.instrument.MeterRegistry;
import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/// Sorts failed cache calls: what ended by the caller's own doing is thrown, the rest becomes a counted
/// fault.
final class CacheFaults {
    private static final Logger log = LoggerFactory.getLogger(CacheFaults.class);

    private static final long DEADLINE_SLACK_MILLIS = 5;

    /// Beyond these the counter tells.
    private static final int LINES_A_MINUTE = 60;

    private final MeterRegistry meters;
    private final LineLimit lines = new LineLimit(LINES_A_MINUTE, System::nanoTime);

    CacheFaults(MeterRegistry meters) {
        this.meters = meters;
    }

    /// @throws MillraceException if the caller's context was cancelled or ran out of time
    /// @throws RuntimeException  `failure` itself, if it does not come from gRPC (a sink's, for one)
    CacheFault of(String operation, RuntimeException failure) {
        if (!(failure instanceof StatusRuntimeException)) {
            throw failure;
        }
        return ofRemote(operation, failure, Context.current());
    }

    CacheFault ofRemote(String operation, Throwable failure, Context caller) {
        MillraceException translated = GrpcErrors.fromThrowable(failure, Leg.CACHE);
        Deadline deadline = caller.getDeadline();
        // A call can end a moment before the context that gave it its deadline.
        boolean late = deadline != null && deadline.timeRemaining(TimeUnit.MILLISECONDS) < DEADLINE_SLACK_MILLIS;
        if (late) {
            throw new MillraceException(ErrorCode.DEADLINE_EXCEEDED, "the request ran out of time", failure);
        }
        if (caller.isCancelled()) {
            throw new MillraceException(ErrorCode.CANCELLED, "the request was cancelled", failure);
        }
        String sentence = translated.getMessage();
        return count(operation, new CacheFault(reason(translated.code()), sentence == null ? "" : sentence));
    }

    CacheFault count(String operation, CacheFault fault) {
        String reason = fault.reason().name().toLowerCase(Locale.ROOT);
        meters.counter(MetricNames.KV_CACHE_CLIENT_FAULTS, "operation", operation, "reason", reason)
                .increment();
        lines.tell(
                unsaid -> log.warn("prefix cache: {} more calls gave nothing, and had no line", unsaid),
                () -> log.warn("prefix cache: {} gave nothing ({}): {}", operation, reason, fault.message()));
        return fault;
    }

    private static CacheFault.Reason reason(ErrorCode code) {
        return switch (code) {
            case LEASE_EXPIRED -> CacheFault.Reason.LEASE_EXPIRED;
            case KV_BLOCK_NOT_FOUND -> CacheFault.Reason.BLOCK_NOT_FOUND;
            case KV_CHECKSUM_MISMATCH -> CacheFault.Reason.CHECKSUM_MISMATCH;
            case CACHE_FULL, QUEUE_FULL -> CacheFault.Reason.CACHE_FULL;
            case DEADLINE_EXCEEDED -> CacheFault.Reason.DEADLINE_EXCEEDED;
            case INVALID_REQUEST, KV_NAMESPACE_MISMATCH -> CacheFault.Reason.REJECTED;
            default -> CacheFault.Reason.UNAVAILABLE;
        };
    }
}
