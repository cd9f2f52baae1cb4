package io.millrace.gateway.generation;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.rpc.MetricNames;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

class AdmissionTest {
    private final SimpleMeterRegistry meters = new SimpleMeterRegistry();

    private Admission admission(int running, int waiting, Duration wait) {
        return new Admission(running, waiting, wait, meters);
    }

    private static ErrorCode refusal(Runnable action) {
        AtomicReference<ErrorCode> code = new AtomicReference<>();
        assertThatThrownBy(action::run).isInstanceOfSatisfying(MillraceException.class, e -> code.set(e.code()));
        return code.get();
    }

    @Test
    void refusesAtOnceWhenNobodyMayWait() {
        Admission admission = admission(2, 0, Duration.ofSeconds(30));
        admission.acquire(2, () -> false);

        assertThat(refusal(() -> admission.acquire(1, () -> false))).isEqualTo(ErrorCode.QUEUE_FULL);
        assertThat(meters.counter(MetricNames.ADMISSION_REJECTIONS, "reason", "queue_full")
                        .count())
                .isEqualTo(1);
        admission.release(2);
        admission.acquire(2, () -> false);
    }

    @Test
    void refusesAfterTheLongestWait() {
        Admission admission = admission(1, 1, Duration.ofMillis(1));
        admission.acquire(1, () -> false);

        assertThat(refusal(() -> admission.acquire(1, () -> false))).isEqualTo(ErrorCode.QUEUE_FULL);
    }

    @Test
    void letsAWaitingRequestInWhenAnotherEnds() throws InterruptedException {
        Admission admission = admission(1, 1, Duration.ofSeconds(30));
        admission.acquire(1, () -> false);
        AtomicBoolean admitted = new AtomicBoolean();
        Thread waiter = Thread.ofVirtual().start(() -> {
            admission.acquire(1, () -> false);
            admitted.set(true);
        });
        await().until(() -> meters.get(MetricNames.REQUESTS_WAITING).gauge().value() == 1);

        admission.release(1);

        waiter.join();
        assertThat(admitted).isTrue();
        assertThat(meters.get(MetricNames.REQUESTS_WAITING).gauge().value()).isZero();
        assertThat(meters.get(MetricNames.REQUESTS_RUNNING).gauge().value()).isEqualTo(1);
    }

    @Test
    void stopsWaitingForAClientThatHungUp() {
        Admission admission = admission(1, 1, Duration.ofSeconds(30));
        admission.acquire(1, () -> false);

        assertThat(refusal(() -> admission.acquire(1, () -> true))).isEqualTo(ErrorCode.CANCELLED);
    }
}
