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
import org.junit.jupiter.params.provider.CsvSource;
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
    void namesTheLimitThatIsExceededAndWhere() {
        String beyond = "The request body is beyond a limit: ";
        assertThatThrownBy(() -> read("{\"a\":\n" + "[".repeat(64) + "]".repeat(64) + "}"))
                .hasMessage(beyond + "nesting deeper than 64 levels (line 2, column 65).");
        assertThatThrownBy(() -> read("{\n\"a\":" + "9".repeat(401) + "}"))
                .hasMessage(beyond + "a number longer than 400 characters (line 2, column 406).");
        assertThatThrownBy(() -> read("{\"a\":[1,0." + "9".repeat(401) + "]}"))
                .hasMessageStartingWith(beyond + "a number longer than 400 characters (line 1, column ");
        assertThatThrownBy(() -> read("{\"" + "k".repeat(4097) + "\":1}"))
                .hasMessageStartingWith(beyond + "a key longer than 4096 characters (line 1, column ");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "`{\"a\":NaN}`         | `NaN, which is no JSON number (line 1, column 9)`",
                "`{\"a\":-Infinity}`   | `-Infinity, which is no JSON number (line 1, column 15)`",
                "`\uFEFF{}`            | `a byte order mark, U+FEFF (line 1, column 1)`",
                "`{\"a\":\"\u0009\"}`   | `a control character, U+0009, not escaped (line 1, column 7)`",
                "`{\"a\u0001\":1}`     | `a control character, U+0001, not escaped (line 1, column 4)`",
                "`{\u0000}`            | `a control character, U+0000 (line 1, column 2)`",
                "`{\"a\":secret}`      | `a character or word is out of place (line 1, column 6)`",
            })
    void namesWhatIsNoJson(String json, String reason) {
        assertThatThrownBy(() -> read(json)).hasMessage("The request body is not valid JSON: " + reason + ".");
    }

    @Test
    void tellsNothingOfTheBodyInItsErrors() {
        assertThatThrownBy(() -> read("{\"secret\":1,\"secret\":2}"))
                .hasMessageNotContaining("secret")
                .hasMessageContaining("twice");
        assertThatThrownBy(() -> read("{\"a\": secret}")).hasMessageNotContaining("secret");
    }
}
