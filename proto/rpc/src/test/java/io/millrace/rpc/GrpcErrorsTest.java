package io.millrace.rpc;

import static org.assertj.core.api.Assertions.assertThat;

import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.proto.v1.ErrorDetail;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

class GrpcErrorsTest {

    @ParameterizedTest
    @EnumSource(ErrorCode.class)
    void everyErrorComesBackAsItWent(ErrorCode code) {
        MillraceException sent = new MillraceException(code, "one sentence", "top_k", 1_500, null);

        MillraceException got = GrpcErrors.fromThrowable(GrpcErrors.toStatus(sent), Leg.DECODE);

        assertThat(got.code()).isEqualTo(code);
        assertThat(got).hasMessage("one sentence");
        assertThat(got.param()).contains("top_k");
        assertThat(got.retryAfterMillis()).isEqualTo(1_500);
    }

    @Test
    void absentFieldsStayAbsent() {
        MillraceException got = GrpcErrors.fromThrowable(
                GrpcErrors.toStatus(new MillraceException(ErrorCode.QUEUE_FULL, "full")), Leg.PREFILL);
        assertThat(got.param()).isEmpty();
        assertThat(got.retryAfterMillis()).isZero();
    }

    @ParameterizedTest
    @CsvSource({
        "UNAVAILABLE,PREFILL,PREFILL_UNAVAILABLE",
        "UNAVAILABLE,DECODE,DECODE_UNAVAILABLE",
        "UNAVAILABLE,CACHE,CACHE_UNAVAILABLE",
        "DEADLINE_EXCEEDED,PREFILL,DEADLINE_EXCEEDED",
        "CANCELLED,DECODE,CANCELLED",
        "RESOURCE_EXHAUSTED,PREFILL,QUEUE_FULL",
        "RESOURCE_EXHAUSTED,CACHE,CACHE_FULL",
        "INVALID_ARGUMENT,PREFILL,INVALID_REQUEST",
        "INTERNAL,PREFILL,PREFILL_FAILED",
        "UNKNOWN,DECODE,DECODE_FAILED",
        "UNAUTHENTICATED,PREFILL,PREFILL_FAILED",
        "PERMISSION_DENIED,DECODE,DECODE_FAILED",
        "UNIMPLEMENTED,DECODE,DECODE_FAILED",
        "NOT_FOUND,CACHE,CACHE_UNAVAILABLE",
    })
    void foreignStatusesReadByTheirLeg(Status.Code status, Leg leg, ErrorCode expected) {
        StatusRuntimeException foreign =
                Status.fromCode(status).withDescription("internal text").asRuntimeException();
        assertThat(GrpcErrors.fromThrowable(foreign, leg).code()).isEqualTo(expected);
    }

    @Test
    void textsOfForeignFailuresAreNotPassedOn() {
        StatusRuntimeException foreign =
                Status.INTERNAL.withDescription("stack of /secret/path").asRuntimeException();
        assertThat(GrpcErrors.fromThrowable(foreign, Leg.PREFILL)).hasMessage("prefill-service failed with INTERNAL");
    }

    @Test
    void unknownCodeOfANewerPeerFallsBackToTheStatus() {
        Metadata trailers = new Metadata();
        trailers.put(
                key(), ErrorDetail.newBuilder().setCode("of_the_future").build().toByteArray());
        StatusRuntimeException foreign = Status.UNAVAILABLE.asRuntimeException(trailers);
        assertThat(GrpcErrors.fromThrowable(foreign, Leg.PREFILL).code()).isEqualTo(ErrorCode.PREFILL_UNAVAILABLE);
    }

    @Test
    void brokenDetailFallsBackToTheStatus() {
        Metadata trailers = new Metadata();
        trailers.put(key(), new byte[] {1, 2, 3});
        StatusRuntimeException foreign = Status.UNAVAILABLE.asRuntimeException(trailers);
        assertThat(GrpcErrors.fromThrowable(foreign, Leg.DECODE).code()).isEqualTo(ErrorCode.DECODE_UNAVAILABLE);
    }

    @Test
    void anOwnExceptionPassesThrough() {
        MillraceException own = new MillraceException(ErrorCode.KV_POOL_EXCEEDED, "too long");
        assertThat(GrpcErrors.fromThrowable(own, Leg.DECODE)).isSameAs(own);
    }

    private static Metadata.Key<byte[]> key() {
        return Metadata.Key.of("millrace-error-detail-bin", Metadata.BINARY_BYTE_MARSHALLER);
    }
}
