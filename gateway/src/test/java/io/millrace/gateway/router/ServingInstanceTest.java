package io.millrace.gateway.router;

import static org.assertj.core.api.Assertions.assertThat;

import io.grpc.Context;
import io.grpc.Status;
import io.millrace.proto.v1.DescribeResponse;
import org.junit.jupiter.api.Test;

class ServingInstanceTest {
    private final ServingInstance instance = new ServingInstance("localhost:1");

    @Test
    void silenceEndsItsCallsAsUnavailable() {
        ServingInstance.Call call = instance.begin(1);
        Context context = call.within(Context::current);
        instance.missed(System.nanoTime());
        assertThat(instance.endSilentCalls(2)).isZero();
        instance.missed(System.nanoTime());

        assertThat(instance.endSilentCalls(2)).isEqualTo(1);

        assertThat(Status.fromThrowable(context.cancellationCause()).getCode()).isEqualTo(Status.Code.UNAVAILABLE);
        assertThat(Context.current().isCancelled()).isFalse();
        call.close();
        instance.close();
    }

    @Test
    void anInstanceThatOnlyAnswersSlowlyKeepsItsCalls() {
        ServingInstance.Call call = instance.begin(1);
        instance.missed(System.nanoTime());
        instance.heard();
        instance.missed(System.nanoTime());

        assertThat(instance.endSilentCalls(2)).isZero();

        assertThat(call.within(Context::current).isCancelled()).isFalse();
        call.close();
        assertThat(instance.outstanding()).isZero();
        instance.close();
    }

    @Test
    void silenceCountsFromTheLastWord() {
        ServingInstance.Call call = instance.begin(1);
        instance.missed(System.nanoTime());
        instance.heard();
        instance.missed(System.nanoTime());
        instance.missed(System.nanoTime());

        assertThat(instance.endSilentCalls(2)).isEqualTo(1);

        call.close();
        instance.close();
    }

    @Test
    void isKnownByTheNameThatItSaidLast() {
        assertThat(instance.name()).isEqualTo("localhost:1");
        instance.described(DescribeResponse.newBuilder().setInstance("decode-1").build());
        assertThat(instance.name()).isEqualTo("decode-1");
        instance.lost();
        assertThat(instance.name()).isEqualTo("decode-1");
        instance.close();
    }
}
