package io.millrace.gateway.route;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.gateway.fake.Suite;
import io.millrace.gateway.fake.SuiteExtension;
import java.net.http.HttpResponse;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/// The suite serves 1,024 tokens of the model's 2,048; the longest token that holds an `a` has 32 bytes.
@ExtendWith(SuiteExtension.class)
class LongTextTest {
    private static final String TOO_LONG = "a".repeat(2048 * 32);
    private final Suite suite;

    LongTextTest(Suite suite) {
        this.suite = suite;
    }

    private static void refused(HttpResponse<String> response, String message) {
        assertThat(response.statusCode()).as(response.body()).isEqualTo(400);
        assertThat(response.body())
                .contains("\"code\":\"context_length_exceeded\"")
                .contains(message);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "/v1/completions      | {'prompt':'TEXT'}",
                "/v1/completions      | {'prompt':['a','TEXT']}",
                "/v1/chat/completions | {'messages':[{'role':'user','content':'TEXT'}]}",
                "/inference           | {'prompt':'TEXT'}",
            })
    void refusesAPromptThatIsCertainToBeTooLongWithTheLeastItHas(String path, String body) {
        HttpResponse<String> response = suite.post(path, body.replace('\'', '"').replace("TEXT", TOO_LONG));

        refused(response, "maximum context length is 1024 tokens");
        refused(response, ", but the prompt has at least 20");
        assertThat(suite.prefill.requests).isEmpty();
    }

    @Test
    void namesTheCountOfAPromptThatIsJustTooLong() {
        String prompt = "word ".repeat(1500);

        refused(suite.post("/v1/completions", "{\"prompt\":\"" + prompt + "\"}"), ", but the prompt has 300");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {"{'prompt':'TEXT'}", "{'messages':[{'role':'user','content':'TEXT'}]}"})
    void countsTextsOfUpToFourContexts(String body) {
        String fits = body.replace('\'', '"').replace("TEXT", TOO_LONG);
        HttpResponse<String> counted = suite.post("/tokenize", fits);
        assertThat(counted.statusCode()).isEqualTo(200);
        assertThat(Suite.JSON.readTree(counted.body()).get("count").asInt()).isGreaterThan(1024);

        refused(
                suite.post("/tokenize", body.replace('\'', '"').replace("TEXT", TOO_LONG.repeat(5))),
                "maximum context length is 1024 tokens, and texts of up to 4 times as many are tokenized,"
                        + " but this one has at least 10");
    }
}
