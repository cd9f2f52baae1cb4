package io.millrace.rpc;

import io.grpc.Context;
import io.grpc.StatusException;
import io.grpc.StatusRuntimeException;
import io.micrometer.core.instrument.MeterRegistry;
import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import java.util.Locale;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/// Sorts failed cache calls: what ended by the caller's own doing is thrown, the rest becomes a counted
/// fault.
final class CacheFaults {
    private static final Logger log = LoggerFactory.getLogger(CacheFaults.class);

    private final MeterRegistry meters;

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
        if (caller.isCancelled()) {
            boolean late = caller.getDeadline() != null && caller.getDeadline().isExpired();
            throw late
                    ? new MillraceException(ErrorCode.DEADLINE_EXCEEDED, "the request ran out of time", failure)
                    : new MillraceException(ErrorCode.CANCELLED, "the request was cancelled", failure);
        }
        String sentence = translated.getMessage();
        return count(operation, new CacheFault(reason(translated.code()), sentence == null ? "" : sentence));
    }

    CacheFault count(String operation, CacheFault fault) {
        String reason = fault.reason().name().toLowerCase(Locale.ROOT);
        meters.counter(MetricNames.KV_CACHE_CLIENT_FAULTS, "operation", operation, "reason", reason)
                .increment();
        log.warn("prefix cache: {} gave nothing ({}): {}", operation, reason, fault.message());
        return fault;
    }

    static boolean isRemote(Throwable failure) {
        return failure instanceof StatusRuntimeException || failure instanceof StatusException;
    }

    private static CacheFault.Reason reason(ErrorCode code) {
        return switch (code) {
            case LEASE_EXPIRED, KV_NAMESPACE_MISMATCH -> CacheFault.Reason.LEASE_EXPIRED;
            case KV_BLOCK_NOT_FOUND -> CacheFault.Reason.BLOCK_NOT_FOUND;
            case KV_CHECKSUM_MISMATCH -> CacheFault.Reason.CHECKSUM_MISMATCH;
            case CACHE_FULL, QUEUE_FULL -> CacheFault.Reason.CACHE_FULL;
            case DEADLINE_EXCEEDED -> CacheFault.Reason.DEADLINE_EXCEEDED;
            case INVALID_REQUEST -> CacheFault.Reason.REJECTED;
            default -> CacheFault.Reason.UNAVAILABLE;
        };
    }
}
