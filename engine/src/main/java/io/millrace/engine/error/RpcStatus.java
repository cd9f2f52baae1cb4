package io.millrace.engine.error;

/// gRPC status codes, so that the list of errors needs no gRPC library. Names equal those of `io.grpc.Status.Code`.
public enum RpcStatus {
    CANCELLED,
    INVALID_ARGUMENT,
    DEADLINE_EXCEEDED,
    NOT_FOUND,
    PERMISSION_DENIED,
    RESOURCE_EXHAUSTED,
    FAILED_PRECONDITION,
    UNIMPLEMENTED,
    INTERNAL,
    UNAVAILABLE,
    DATA_LOSS,
    UNAUTHENTICATED
}
