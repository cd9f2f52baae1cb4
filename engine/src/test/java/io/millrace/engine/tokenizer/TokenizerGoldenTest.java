package io.millrace.engine.tokenizer;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.engine.text.MarkedText;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/// Ids and decodings computed by Hugging Face's own tokenizer library.
class TokenizerGoldenTest {
    private static Tokenizer tokenizer;

    @BeforeAll
    static void load() {
        tokenizer = Tokenizer.load(MiniModel.directory());
    }

    @AfterAll
    static void close() {
        tokenizer.close();
    }

    @Test
    void encodesAndDecodesEveryRecordedString() throws IOException {
        JsonNode cases = read("/golden/text/tokenizer_cases.json");
        assertThat(cases.size()).isGreaterThan(50);
        for (JsonNode one : cases) {
            String text = one.path("text").asString();
            int[] ids = ids(one.path("ids"));
            assertThat(tokenizer.encode(text)).as(text).containsExactly(ids);
            assertThat(tokenizer.decode(ids, false))
                    .isEqualTo(one.path("decoded").asString());
            assertThat(tokenizer.decode(ids, true))
                    .isEqualTo(one.path("decoded_skip_special").asString());
        }
    }

    @Test
    void encodesEveryRenderedPrompt() throws IOException {
        int compared = 0;
        for (JsonNode one : read("/golden/text/chat_cases.json")) {
            if (one.has("ids")) {
                String prompt = one.path("rendered").asString();
                assertThat(tokenizer.encode(prompt)).as(prompt).containsExactly(ids(one.path("ids")));
                compared++;
            }
        }
        assertThat(compared).isGreaterThan(15);
    }

    @Test
    void callerTextIsEncodedLikeTheSameTextWithoutAddedTokens() throws IOException {
        List<String> broken = new ArrayList<>();
        for (JsonNode one : read("/golden/text/tokenizer_cases.json")) {
            String text = one.path("text").asString();
            int[] ids = tokenizer.encode(MarkedText.fromCaller(text));
            for (int id : ids) {
                if (tokenizer.addedToken(id).isPresent()) {
                    broken.add(text);
                }
            }
            assertThat(tokenizer.decode(ids, true)).isEqualTo(text);
        }
        assertThat(broken).isEmpty();
    }

    private static JsonNode read(String resource) throws IOException {
        try (InputStream in = Objects.requireNonNull(TokenizerGoldenTest.class.getResourceAsStream(resource))) {
            return new JsonMapper().readTree(in);
        }
    }

    private static int[] ids(JsonNode array) {
        return StreamSupport.stream(array.spliterator(), false)
                .mapToInt(JsonNode::intValue)
                .toArray();
    }
}
