package io.millrace.rpc;

import io.millrace.engine.error.ErrorCode;

/// Which peer a call went to: it decides how a status that carries no
/// [io.millrace.proto.v1.ErrorDetail] reads.
public enum Leg {
    PREFILL("prefill-service", ErrorCode.PREFILL_UNAVAILABLE, ErrorCode.PREFILL_FAILED, ErrorCode.QUEUE_FULL),
    DECODE("decode-service", ErrorCode.DECODE_UNAVAILABLE, ErrorCode.DECODE_FAILED, ErrorCode.QUEUE_FULL),
    CACHE("kv-cache-service", ErrorCode.CACHE_UNAVAILABLE, ErrorCode.CACHE_UNAVAILABLE, ErrorCode.CACHE_FULL);

    private final String peer;
    private final ErrorCode unavailable;
    private final ErrorCode failed;
    private final ErrorCode exhausted;

    Leg(String peer, ErrorCode unavailable, ErrorCode failed, ErrorCode exhausted) {
        this.peer = peer;
        this.unavailable = unavailable;
        this.failed = failed;
        this.exhausted = exhausted;
    }

    /// Name of the peer's service, for sentences.
    public String peer() {
        return peer;
    }

    /// Nobody answered.
    ErrorCode unavailable() {
        return unavailable;
    }

    /// The peer answered with a failure of its own.
    ErrorCode failed() {
        return failed;
    }

    /// The peer has no room.
    ErrorCode exhausted() {
        return exhausted;
    }
}
