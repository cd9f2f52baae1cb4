package io.millrace.gateway.route;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.openai.client.OpenAIClient;
import com.openai.client.okhttp.OpenAIOkHttpClient;
import com.openai.core.http.StreamResponse;
import com.openai.errors.NotFoundException;
import com.openai.helpers.ChatCompletionAccumulator;
import com.openai.models.chat.completions.ChatCompletion;
import com.openai.models.chat.completions.ChatCompletionChunk;
import com.openai.models.chat.completions.ChatCompletionCreateParams;
import io.millrace.gateway.fake.Suite;
import io.millrace.gateway.fake.SuiteExtension;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/// The published Java client works against the gateway.
@ExtendWith(SuiteExtension.class)
class OpenAiClientTest {
    private final Suite suite;

    OpenAiClientTest(Suite suite) {
        this.suite = suite;
    }

    private OpenAIClient client() {
        return OpenAIOkHttpClient.builder()
                .baseUrl(suite.uri("/v1").toString())
                .apiKey("none")
                .maxRetries(0)
                .build();
    }

    private static ChatCompletionCreateParams params(String model) {
        return ChatCompletionCreateParams.builder()
                .model(model)
                .addUserMessage("Hi")
                .build();
    }

    @Test
    void answersTheClient() {
        suite.answer("Hm.</think>Hello there.");
        OpenAIClient client = client();
        try {
            ChatCompletion completion = client.chat().completions().create(params("millrace-mini"));

            assertThat(completion.choices().getFirst().message().content()).hasValue("Hello there.");
            assertThat(completion.usage().orElseThrow().completionTokens()).isPositive();
        } finally {
            client.close();
        }
    }

    @Test
    void streamsToTheClient() {
        suite.answer("Hm.</think>Hello there.");
        OpenAIClient client = client();
        ChatCompletionAccumulator accumulator = ChatCompletionAccumulator.create();
        try (StreamResponse<ChatCompletionChunk> stream =
                client.chat().completions().createStreaming(params("millrace-mini"))) {
            stream.stream().forEach(accumulator::accumulate);

            ChatCompletion completion = accumulator.chatCompletion();
            assertThat(completion.choices().getFirst().message().content()).hasValue("Hello there.");
            assertThat(completion.choices().getFirst().finishReason())
                    .isEqualTo(ChatCompletion.Choice.FinishReason.STOP);
        } finally {
            client.close();
        }
    }

    @Test
    void tellsTheClientItsErrors() {
        OpenAIClient client = client();
        try {
            assertThatThrownBy(() -> client.chat().completions().create(params("gpt-9")))
                    .isInstanceOf(NotFoundException.class)
                    .hasMessageContaining("does not exist");
        } finally {
            client.close();
        }
    }
}
