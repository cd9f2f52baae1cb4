package io.millrace.standalone.suite;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.millrace.engine.error.MillraceException;
import io.millrace.engine.model.LoadProgress;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/// What a service of the suite refuses is told in its own sentence, whichever service it is.
class SuiteRefusalIT {
    private static final Path MINI = Path.of(System.getProperty("millrace.root", ".."), "models", "mini");

    @Test
    void aCacheThatHoldsNoBlockIsRefused() {
        String key = "millrace.kv-cache.capacity-bytes";
        SuiteSettings settings = SuiteSettings.of(MINI).withServiceKeys(Map.of(key, "1"));
        try (Suite suite = new Suite(settings)) {
            assertThatThrownBy(() -> suite.start(LoadProgress.SILENT))
                    .isInstanceOf(MillraceException.class)
                    .hasMessageMatching(
                            key + ": 1 \\(expected: at least \\d+, one block of 64 tokens of this model\\)");
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"prefill", "decode", "gateway", "kv-cache"})
    void aRefusalOfAServiceIsItsSentence(String service) {
        String key = "millrace." + service + ".nonsense";
        try (Suite suite = new Suite(SuiteSettings.of(MINI).withServiceKeys(Map.of(key, "1")))) {
            assertThatThrownBy(() -> suite.start(LoadProgress.SILENT))
                    .isInstanceOf(MillraceException.class)
                    .hasMessageStartingWith(key + ": ");
        }
    }
}
