package io.millrace.rpc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class LineLimitTest {
    @Test
    void whatGoesWithoutALineIsToldWithTheFirstOneOfALaterMinute() {
        AtomicLong nanos = new AtomicLong(-1);
        LineLimit limit = new LineLimit(2, nanos::get);
        assertThat(limit.tryLine()).hasValue(0);
        assertThat(limit.tryLine()).hasValue(0);
        for (int i = 0; i < 5; i++) {
            assertThat(limit.tryLine()).isEmpty();
        }
        nanos.incrementAndGet();
        assertThat(limit.tryLine()).hasValue(5);
        assertThat(limit.tryLine()).hasValue(0);
        assertThat(limit.tryLine()).isEmpty();
        nanos.addAndGet(TimeUnit.MINUTES.toNanos(3));
        assertThat(limit.tryLine()).hasValue(1);
    }

    @Test
    void howManyWentWithoutIsToldBeforeTheLineAndOnlyIfAnyDid() {
        AtomicLong nanos = new AtomicLong();
        LineLimit limit = new LineLimit(1, nanos::get);
        List<String> said = new ArrayList<>();
        for (String line : List.of("a", "b", "c")) {
            limit.tell(unsaid -> said.add(unsaid + " more"), () -> said.add(line));
        }
        nanos.addAndGet(TimeUnit.MINUTES.toNanos(1));
        limit.tell(unsaid -> said.add(unsaid + " more"), () -> said.add("d"));
        assertThat(said).containsExactly("a", "2 more", "d");
    }

    @Test
    void noLineAtAllIsNoLimit() {
        assertThatThrownBy(() -> new LineLimit(0, System::nanoTime))
                .hasMessage("linesAMinute: 0 (expected: at least 1)");
    }
}
