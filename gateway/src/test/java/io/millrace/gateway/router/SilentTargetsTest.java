package io.millrace.gateway.router;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.grpc.Status;
import io.millrace.proto.v1.DescribeResponse;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

/// A target that nobody answers at is told once, as it may be a mistake in the settings.
class SilentTargetsTest {
    private static final String HERE = "static://127.0.0.1:1";
    private static final String NOWHERE = "dns:///no.invalid:9102";

    private final Logger log = (Logger) LoggerFactory.getLogger(InstancePool.class);
    private final ListAppender<ILoggingEvent> lines = new ListAppender<>();
    private final AtomicLong nanos = new AtomicLong();
    private volatile boolean answers;

    @BeforeEach
    void record() {
        lines.start();
        log.addAppender(lines);
    }

    @AfterEach
    void stop() {
        log.detachAppender(lines);
    }

    private InstancePool pool(String... targets) {
        return new InstancePool(
                "decode-service", List.of(targets), (_, _) -> describe(), Duration.ofSeconds(1), nanos::get);
    }

    private DescribeResponse describe() {
        if (!answers) {
            throw Status.UNAVAILABLE.asRuntimeException();
        }
        return DescribeResponse.getDefaultInstance();
    }

    private void refreshFor(int seconds, InstancePool pool) {
        for (int i = 0; i < seconds; i++) {
            pool.refresh();
            nanos.addAndGet(TimeUnit.SECONDS.toNanos(1));
        }
    }

    private List<String> warnings() {
        List<String> warnings = lines.list.stream()
                .filter(line -> line.getLevel() == Level.WARN)
                .map(ILoggingEvent::getFormattedMessage)
                .toList();
        lines.list.clear();
        return warnings;
    }

    @Test
    void tellsOnceOfATargetThatNobodyAnswersAt() {
        InstancePool pool = pool(HERE);

        refreshFor(10, pool);
        assertThat(warnings()).isEmpty();
        refreshFor(30, pool);
        assertThat(warnings())
                .containsExactly("decode-service static://127.0.0.1:1 has not answered for 10 s: UNAVAILABLE");
        pool.close();
    }

    @Test
    void tellsOnceOfANameThatHasNoAddress() {
        InstancePool pool = pool(NOWHERE);

        refreshFor(30, pool);

        assertThat(warnings())
                .containsExactly(
                        "decode-service dns:///no.invalid:9102 has not answered for 10 s: its name has no address");
        pool.close();
    }

    @Test
    void tellsAgainOnlyAfterItAnswered() {
        InstancePool pool = pool(HERE);
        refreshFor(20, pool);
        assertThat(warnings()).hasSize(1);

        answers = true;
        refreshFor(20, pool);
        assertThat(warnings()).isEmpty();

        answers = false;
        refreshFor(10, pool);
        assertThat(warnings()).containsExactly("decode-service 127.0.0.1:1 is down: UNAVAILABLE");
        refreshFor(30, pool);
        assertThat(warnings())
                .containsExactly("decode-service static://127.0.0.1:1 has not answered for 10 s: UNAVAILABLE");
        pool.close();
    }

    @Test
    void saysNothingOfATargetThatAnswers() {
        answers = true;
        InstancePool pool = pool(HERE);

        refreshFor(30, pool);

        assertThat(warnings()).isEmpty();
        pool.close();
    }
}
