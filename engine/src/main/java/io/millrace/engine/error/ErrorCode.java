package io.millrace.engine.error;

import java.util.Locale;

/// Every error a caller can meet, with its gRPC status, HTTP status and whether trying again can help.
/// Its wire name is the lower-case name.
public enum ErrorCode {
    INVALID_JSON(RpcStatus.INVALID_ARGUMENT, 400, false),
    INVALID_REQUEST(RpcStatus.INVALID_ARGUMENT, 400, false),
    UNSUPPORTED_CONTENT(RpcStatus.INVALID_ARGUMENT, 400, false),
    CONTEXT_LENGTH_EXCEEDED(RpcStatus.INVALID_ARGUMENT, 400, false),
    NO_CHAT_TEMPLATE(RpcStatus.FAILED_PRECONDITION, 400, false),
    CHAT_TEMPLATE_FAILED(RpcStatus.INVALID_ARGUMENT, 400, false),
    INVALID_CHECKPOINT(RpcStatus.FAILED_PRECONDITION, 500, false),
    KV_POOL_EXCEEDED(RpcStatus.INVALID_ARGUMENT, 400, false),
    AUTHENTICATION_REQUIRED(RpcStatus.UNAUTHENTICATED, 401, false),
    PERMISSION_DENIED(RpcStatus.PERMISSION_DENIED, 403, false),
    MODEL_NOT_FOUND(RpcStatus.NOT_FOUND, 404, false),
    ROUTE_NOT_FOUND(RpcStatus.NOT_FOUND, 404, false),
    METHOD_NOT_ALLOWED(RpcStatus.UNIMPLEMENTED, 405, false),
    BODY_INCOMPLETE(RpcStatus.INVALID_ARGUMENT, 400, false),
    BODY_TIMEOUT(RpcStatus.DEADLINE_EXCEEDED, 408, false),
    BODY_TOO_LARGE(RpcStatus.INVALID_ARGUMENT, 413, false),
    HEADERS_TIMEOUT(RpcStatus.DEADLINE_EXCEEDED, 408, false),
    HEADERS_TOO_LARGE(RpcStatus.INVALID_ARGUMENT, 431, false),
    UNSUPPORTED_MEDIA_TYPE(RpcStatus.INVALID_ARGUMENT, 415, false),
    QUEUE_FULL(RpcStatus.RESOURCE_EXHAUSTED, 429, true),
    CACHE_FULL(RpcStatus.RESOURCE_EXHAUSTED, 503, true),
    BROKEN_LOGITS(RpcStatus.INTERNAL, 500, false),
    INTERNAL(RpcStatus.INTERNAL, 500, false),
    NOT_SUPPORTED(RpcStatus.UNIMPLEMENTED, 400, false),
    PREFILL_FAILED(RpcStatus.UNAVAILABLE, 502, true),
    DECODE_FAILED(RpcStatus.UNAVAILABLE, 502, true),
    PREFILL_UNAVAILABLE(RpcStatus.UNAVAILABLE, 503, true),
    DECODE_UNAVAILABLE(RpcStatus.UNAVAILABLE, 503, true),
    CACHE_UNAVAILABLE(RpcStatus.UNAVAILABLE, 503, true),
    NO_MATCHING_DECODE(RpcStatus.UNAVAILABLE, 503, true),
    KV_NAMESPACE_MISMATCH(RpcStatus.FAILED_PRECONDITION, 503, true),
    KV_CHECKSUM_MISMATCH(RpcStatus.DATA_LOSS, 503, true),
    KV_BLOCK_NOT_FOUND(RpcStatus.NOT_FOUND, 503, true),
    LEASE_EXPIRED(RpcStatus.FAILED_PRECONDITION, 503, true),
    ENGINE_FAILED(RpcStatus.UNAVAILABLE, 503, true),
    SHUTTING_DOWN(RpcStatus.UNAVAILABLE, 503, true),
    CANCELLED(RpcStatus.CANCELLED, 499, false),
    DEADLINE_EXCEEDED(RpcStatus.DEADLINE_EXCEEDED, 504, true);

    private final RpcStatus rpcStatus;
    private final int httpStatus;
    private final boolean retryable;

    ErrorCode(RpcStatus rpcStatus, int httpStatus, boolean retryable) {
        this.rpcStatus = rpcStatus;
        this.httpStatus = httpStatus;
        this.retryable = retryable;
    }

    public RpcStatus rpcStatus() {
        return rpcStatus;
    }

    public int httpStatus() {
        return httpStatus;
    }

    public boolean retryable() {
        return retryable;
    }

    /// Name on the wire, e.g. `context_length_exceeded`.
    public String wireName() {
        return name().toLowerCase(Locale.ROOT);
    }
}
