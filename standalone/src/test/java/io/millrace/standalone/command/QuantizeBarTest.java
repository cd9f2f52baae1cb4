package io.millrace.standalone.command;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class QuantizeBarTest {
    @Test
    void withoutATerminalThereIsALineAtBothEndsOfEachPhaseAndNowAndThen() {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        long[] nanos = {-5};
        try (PrintStream out = new PrintStream(bytes, true, StandardCharsets.UTF_8);
                QuantizeBar bar = new QuantizeBar(false, out, () -> nanos[0])) {
            bar.advanced("measuring", 1, 9);
            bar.advanced("measuring", 2, 9);
            nanos[0] += TimeUnit.SECONDS.toNanos(10);
            bar.advanced("measuring", 3, 9);
            bar.advanced("measuring", 4, 9);
            bar.advanced("measuring", 9, 9);
            bar.advanced("measuring", 9, 9);
            bar.advanced("writing", 1, 70);
            bar.advanced("checking", 1, 1);
            bar.advanced("measuring", 1, 9);
            bar.advanced("measuring", 2, 9);
            bar.advanced("measuring", 1, 9);
            nanos[0] += TimeUnit.SECONDS.toNanos(10);
            bar.advanced("measuring", 9, 9);
        }
        assertThat(bytes.toString(StandardCharsets.UTF_8).lines())
                .containsExactly(
                        "measuring: 1 of 9",
                        "measuring: 3 of 9",
                        "measuring: 9 of 9",
                        "writing: 1 of 70",
                        "checking: 1 of 1",
                        "measuring: 1 of 9",
                        "measuring: 1 of 9",
                        "measuring: 9 of 9");
    }
}
