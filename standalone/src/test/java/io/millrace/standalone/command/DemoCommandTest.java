package io.millrace.standalone.command;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Optional;
import org.junit.jupiter.api.Test;

class DemoCommandTest {
    @Test
    void whoAskedNoRunningSuiteIsToldHowToStartOne() {
        assertThat(DemoCommand.goOn(Optional.empty())).isEqualTo("""

                To go on, start it with

                    ./millrace up

                and ask it from another terminal with

                    curl -N http://127.0.0.1:8080/v1/chat/completions -H 'Content-Type: application/json' \\
                      -d '{"messages": [{"role": "user", "content": "What is 37 + 58?"}], "stream": true}'

                or with ./millrace chat --url http://127.0.0.1:8080""");
    }

    @Test
    void aRunningSuiteIsAskedAgainWhereItWas() {
        assertThat(DemoCommand.goOn(Optional.of("http://gpu:9000")))
                .startsWith("\nTo go on, ask it with\n\n    curl -N http://gpu:9000/v1/chat/completions ")
                .endsWith("\nor with ./millrace chat --url http://gpu:9000")
                .doesNotContain("start", "8080");
    }
}
