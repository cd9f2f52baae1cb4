package io.millrace.engine.settings;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class ServedNameTest {
    @ParameterizedTest
    @ValueSource(strings = {"glm-5", "org/model:v1", "my model", "智谱", "café ☕"})
    void takesWhatCanBeRead(String name) {
        assertThat(ServedName.require("servedName", name)).isEqualTo(name);
    }

    @Test
    void nothingAsksForNone() {
        assertThat(ServedName.require("servedName", null)).isNull();
        assertThat(ServedName.require("servedName", "")).isNull();
    }

    static List<Arguments> unreadable() {
        return List.of(
                Arguments.of("a\nb", "a\\u000ab"),
                Arguments.of("a\0", "a\\u0000"),
                Arguments.of("a\u001b[1m", "a\\u001b[1m"),
                Arguments.of("a\u2028b", "a\\u2028b"),
                Arguments.of("  ", "  "));
    }

    @ParameterizedTest
    @MethodSource("unreadable")
    void refusesWhatBreaksLinesOrIsBlank(String name, String shown) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> ServedName.require("servedName", name))
                .withMessage("servedName: \"" + shown + "\" (expected: a model id of characters that can be seen)");
    }
}
