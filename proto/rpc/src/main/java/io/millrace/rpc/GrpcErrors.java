package io.millrace.rpc;

import com.google.protobuf.InvalidProtocolBufferException;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.proto.v1.ErrorDetail;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/// The one translator between [MillraceException] and gRPC statuses. The code, parameter and retry time
/// travel as an
/// [ErrorDetail] in the trailers; the description is the exception's one sentence.
///
/// Coming back, an `ErrorDetail` wins. A status without one was not made by our services (the
/// transport, a proxy, a
/// crash) and is read by the [Leg] it came from: refusals of identity or of a method between our own
/// services are
/// failures of that leg, never the user's, and their texts are not passed on.
public final class GrpcErrors {
    private static final Metadata.Key<byte[]> DETAIL =
            Metadata.Key.of("millrace-error-detail-bin", Metadata.BINARY_BYTE_MARSHALLER);

    private GrpcErrors() {}

    /// The status of an exception, to end a call with.
    public static StatusRuntimeException toStatus(MillraceException exception) {
        return status(exception).asRuntimeException(trailers(exception));
    }

    static Status status(MillraceException exception) {
        Status.Code code = Status.Code.valueOf(exception.code().rpcStatus().name());
        return Status.fromCode(code).withDescription(exception.getMessage()).withCause(exception);
    }

    static Metadata trailers(MillraceException exception) {
        ErrorDetail.Builder detail = ErrorDetail.newBuilder()
                .setCode(exception.code().wireName())
                .setRetryable(exception.code().retryable());
        exception.param().ifPresent(detail::setParam);
        if (exception.retryAfterMillis() > 0) {
            detail.setRetryAfterMillis(exception.retryAfterMillis());
        }
        Metadata trailers = new Metadata();
        trailers.put(DETAIL, detail.build().toByteArray());
        return trailers;
    }

    /// What a failed call means to us.
    ///
    /// @param failure  what the stub threw or `onError` got: a status exception, or anything else
    /// @param leg      the peer that was called
    public static MillraceException fromThrowable(Throwable failure, Leg leg) {
        if (failure instanceof MillraceException exception) {
            return exception;
        }
        Status status = Status.fromThrowable(failure);
        Optional<ErrorDetail> detail = detail(Status.trailersFromThrowable(failure));
        Optional<ErrorCode> code = detail.flatMap(d -> code(d.getCode()));
        if (detail.isPresent() && code.isPresent()) {
            ErrorDetail known = detail.get();
            return new MillraceException(
                    code.get(),
                    sentence(status, leg),
                    known.hasParam() ? known.getParam() : null,
                    known.hasRetryAfterMillis() ? known.getRetryAfterMillis() : 0,
                    failure);
        }
        return foreign(status, leg, failure);
    }

    private static MillraceException foreign(Status status, Leg leg, Throwable failure) {
        String peer = leg.peer();
        return switch (status.getCode()) {
            case UNAVAILABLE -> new MillraceException(leg.unavailable(), peer + " cannot be reached", failure);
            case DEADLINE_EXCEEDED ->
                new MillraceException(ErrorCode.DEADLINE_EXCEEDED, peer + " did not answer in time", failure);
            case CANCELLED -> new MillraceException(ErrorCode.CANCELLED, "the call was cancelled", failure);
            case RESOURCE_EXHAUSTED -> new MillraceException(leg.exhausted(), peer + " has no room", failure);
            case INVALID_ARGUMENT, OUT_OF_RANGE ->
                new MillraceException(ErrorCode.INVALID_REQUEST, sentence(status, leg), failure);
            case OK, UNKNOWN, NOT_FOUND, ALREADY_EXISTS, PERMISSION_DENIED, FAILED_PRECONDITION, ABORTED ->
                failed(status, leg, failure);
            case UNIMPLEMENTED, INTERNAL, DATA_LOSS, UNAUTHENTICATED -> failed(status, leg, failure);
        };
    }

    private static MillraceException failed(Status status, Leg leg, Throwable failure) {
        String sentence = leg.peer() + " failed with " + status.getCode();
        return new MillraceException(leg.failed(), sentence, failure);
    }

    private static String sentence(Status status, Leg leg) {
        String description = status.getDescription();
        return description == null ? leg.peer() + " answered " + status.getCode() : description;
    }

    private static Optional<ErrorDetail> detail(@Nullable Metadata trailers) {
        byte[] bytes = trailers == null ? null : trailers.get(DETAIL);
        if (bytes == null) {
            return Optional.empty();
        }
        try {
            return Optional.of(ErrorDetail.parseFrom(bytes));
        } catch (InvalidProtocolBufferException e) {
            // Not ours after all: the plain status decides.
            return Optional.empty();
        }
    }

    /// Empty for a code of a newer peer.
    private static Optional<ErrorCode> code(String wireName) {
        for (ErrorCode code : ErrorCode.values()) {
            if (code.wireName().equals(wireName)) {
                return Optional.of(code);
            }
        }
        return Optional.empty();
    }
}
