package io.millrace.startup;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.Test;
import org.springframework.context.event.ContextClosedEvent;
import org.springframework.context.support.StaticApplicationContext;

class GracePeriodTest {
    private final StaticApplicationContext application = new StaticApplicationContext();
    private final CompletableFuture<Boolean> ended = new CompletableFuture<>();

    private GracePeriod of(Duration length) {
        return new GracePeriod(application, length, () -> ended.complete(true));
    }

    @Test
    void leavesTwoSecondsOrHalfOfItForLastWords() {
        assertThat(GracePeriod.until(Duration.ofSeconds(25))).isEqualTo(Duration.ofSeconds(23));
        assertThat(GracePeriod.until(Duration.ofSeconds(3))).isEqualTo(Duration.ofMillis(1500));
        assertThat(GracePeriod.until(Duration.ZERO)).isZero();
    }

    @Test
    void endsWhatIsUnderWay() throws Exception {
        try (GracePeriod period = of(Duration.ofMillis(10))) {
            period.onApplicationEvent(new ContextClosedEvent(application));
            assertThat(ended.get(20, TimeUnit.SECONDS)).isTrue();
        }
    }

    @Test
    void takesNoOtherApplicationsEndForItsOwn() {
        try (GracePeriod period = of(Duration.ZERO)) {
            period.onApplicationEvent(new ContextClosedEvent(new StaticApplicationContext()));
            assertThatThrownBy(() -> ended.get(500, TimeUnit.MILLISECONDS)).isInstanceOf(TimeoutException.class);
        }
    }
}
