package io.millrace.gateway.json;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class StrictJsonTest {
    private static Map<String, @Nullable Object> read(String json) {
        return StrictJson.readObject(json.getBytes(StandardCharsets.UTF_8));
    }

    @Test
    void readsEveryKindOfValueInOrder() {
        Map<String, @Nullable Object> object = read("{\"b\":1,\"a\":-1.5e2,\"t\":true,"
                + "\"f\":false,\"n\":null,\"s\":\"\\u00e9\\ud83d\\ude00\",\"l\":[1,[],{}]}");

        assertThat(object.keySet()).containsExactly("b", "a", "t", "f", "n", "s", "l");
        assertThat(object.get("b")).isEqualTo(BigInteger.ONE);
        assertThat(object.get("a")).isEqualTo(-150.0);
        assertThat(object.get("t")).isEqualTo(true);
        assertThat(object.get("n")).isNull();
        assertThat(object.get("s")).isEqualTo("é😀");
        assertThat(object.get("l")).isEqualTo(List.of(BigInteger.ONE, List.of(), Map.of()));
    }

    @Test
    void keepsIntegersOfAnySizeExact() {
        assertThat(read("{\"x\":18446744073709551616}").get("x")).isEqualTo(BigInteger.TWO.pow(64));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                " ",
                "{",
                "{\"a\":}",
                "{\"a\":1,}",
                "{'a':1}",
                "{\"a\":NaN}",
                "{\"a\":Infinity}",
                "{\"a\":-Infinity}",
                "{\"a\":1}{}",
                "{\"a\":1} x",
                "{\"a\":1,\"a\":2}",
                "{\"a\":{\"b\":1,\"b\":1}}",
                "{\"a\":01}",
                "{\"a\":+1}",
                "{\"a\":.5}",
                "{\"a\":1e999}",
                "{\"a\":\"\\ud800\"}",
                "{\"a\":\"\\udc00x\"}",
                "{\"\\ud800\":1}",
                "{\"a\":\"\t\"}",
                "{\"a\":1}//x",
                "{\"a\":\"\\x41\"}",
                "\uFEFF{\"a\":1}"
            })
    void refusesWhatIsNoJson(String json) {
        assertThatThrownBy(() -> read(json))
                .isInstanceOfSatisfying(
                        MillraceException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.INVALID_JSON));
    }

    @ParameterizedTest
    @ValueSource(strings = {"[]", "1", "\"x\"", "null", "true"})
    void refusesWhatIsNoObject(String json) {
        assertThatThrownBy(() -> read(json))
                .isInstanceOfSatisfying(
                        MillraceException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.INVALID_REQUEST));
    }

    @Test
    void refusesBytesThatAreNoUtf8() {
        byte[] bytes = "{\"a\":\"é\"}".getBytes(StandardCharsets.ISO_8859_1);

        assertThatThrownBy(() -> StrictJson.readObject(bytes))
                .isInstanceOf(MillraceException.class)
                .hasMessageContaining("UTF-8");
    }

    @Test
    void refusesDeepNestingWithoutOverflowingTheStack() {
        String json = "{\"a\":" + "[".repeat(100_000) + "]".repeat(100_000) + "}";

        assertThatThrownBy(() -> read(json))
                .isInstanceOf(MillraceException.class)
                .hasMessageContaining("nesting");
    }

    @Test
    void refusesNumbersOfEndlessLength() {
        char[] digits = new char[100_000];
        Arrays.fill(digits, '9');

        assertThatThrownBy(() -> read("{\"a\":" + new String(digits) + "}")).isInstanceOf(MillraceException.class);
    }

    @Test
    void tellsNothingOfTheBodyInItsErrors() {
        assertThatThrownBy(() -> read("{\"secret\":1,\"secret\":2}"))
                .hasMessageNotContaining("secret")
                .hasMessageContaining("twice");
        assertThatThrownBy(() -> read("{\"a\": secret}")).hasMessageNotContaining("secret");
    }
}
