package io.millrace.gateway.generation;

import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.rpc.GrpcErrors;
import io.millrace.rpc.Leg;

/// A failed call to a service, and what may be done about it.
sealed interface CallFailure {
    MillraceException error();

    /// The request or the model is at fault, or the time is over: another try gives the same.
    record Final(MillraceException error) implements CallFailure {}

    /// The instance has no room; another may.
    record Busy(MillraceException error) implements CallFailure {}

    /// The instance is at fault; another, or the same later, may answer.
    record Broken(MillraceException error) implements CallFailure {}

    static CallFailure of(Throwable failure, Leg leg) {
        MillraceException error = GrpcErrors.fromThrowable(failure, leg);
        return switch (error.code()) {
            case QUEUE_FULL -> new Busy(error);
            case DEADLINE_EXCEEDED, NOT_SUPPORTED, BROKEN_LOGITS -> new Final(error);
            case INTERNAL ->
                new Broken(new MillraceException(
                        leg == Leg.PREFILL ? ErrorCode.PREFILL_FAILED : ErrorCode.DECODE_FAILED,
                        leg.peer() + " failed.",
                        error));
            case CANCELLED ->
                new Broken(new MillraceException(
                        leg == Leg.PREFILL ? ErrorCode.PREFILL_FAILED : ErrorCode.DECODE_FAILED,
                        leg.peer() + " ended the call.",
                        error));
            default -> error.code().httpStatus() < 500 ? new Final(error) : new Broken(error);
        };
    }
}
