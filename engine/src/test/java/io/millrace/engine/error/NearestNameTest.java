package io.millrace.engine.error;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class NearestNameTest {
    private static final List<String> KNOWN = List.of("n", "top_k", "top_p", "stop", "max_tokens", "temperature");

    @ParameterizedTest
    @CsvSource({
        "max_token,max_tokens",
        "maxTokens,max_tokens",
        "max-tokens,max_tokens",
        "max_tkoens,max_tokens",
        "mx_tokkens,max_tokens",
        "TEMPERATURE,temperature",
        "tempratur,temperature",
        "stops,stop",
        "tsop,stop",
        "topk,top_k",
        "topP,top_p",
    })
    void findsWhatASlipOfThePenMeans(String name, String meant) {
        assertThat(NearestName.of(name, KNOWN)).hasValue(meant);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "k", "tip", "strop_", "stepp", "max_length", "temper", "tokens", "entirely_different"})
    void takesOtherNamesForOtherNames(String name) {
        assertThat(NearestName.of(name, List.of("n", "top", "max_tokens", "temperature")))
                .isEmpty();
    }

    @Test
    void ofFewNamesShortOnesAreNearToo() {
        assertThat(NearestName.ofFew("upp", List.of("chat", "up"))).hasValue("up");
        assertThat(NearestName.ofFew("fly", List.of("chat", "up"))).isEmpty();
        assertThat(NearestName.of("upp", List.of("chat", "up"))).isEmpty();
    }

    @Test
    void takesTheFirstOfEquallyNearOnes() {
        assertThat(NearestName.of("top_x", KNOWN)).hasValue("top_k");
        assertThat(NearestName.of("top_x", KNOWN.reversed())).hasValue("top_p");
    }
}
