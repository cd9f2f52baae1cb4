package io.millrace.gateway.route;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.gateway.fake.Suite;
import io.millrace.gateway.fake.SuiteExtension;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;

/// Fields that the two OpenAI endpoints do not read: misspelt ones are refused, those without effect pass,
/// all others pass and are named.
@ExtendWith(SuiteExtension.class)
class UnknownFieldsTest {
    private static final String HEADER = "X-Millrace-Ignored-Fields";
    private static final String CHAT = "/v1/chat/completions";
    private static final String COMPLETIONS = "/v1/completions";
    private final Suite suite;

    UnknownFieldsTest(Suite suite) {
        this.suite = suite;
    }

    private static String completion(String... fields) {
        List<String> all = new ArrayList<>(List.of("\"prompt\":\"Hello\""));
        all.addAll(List.of(fields));
        return "{" + String.join(",", all) + "}";
    }

    @ParameterizedTest
    @CsvSource({
        "max_token,max_tokens",
        "maxTokens,max_tokens",
        "max_completion_token,max_completion_tokens",
        "temprature,temperature",
        "top-p,top_p",
        "topK,top_k",
        "stops,stop",
        "stop_tokens_ids,stop_token_ids",
        "seeds,seed",
        "streams,stream",
        "enableMTP,enable_mtp",
        "response_formt,response_format",
        "frequency_penality,frequency_penalty",
        "ignore_eso,ignore_eos",
        "logprob,logprobs",
        "parallel_tool_call,parallel_tool_calls",
    })
    void aMisspeltFieldIsRefusedWithTheOneThatIsMeant(String name, String meant) {
        String field = "\"" + name + "\":1";
        for (HttpResponse<String> response : List.of(
                suite.post(CHAT, Suite.chat(field)),
                suite.post(CHAT, Suite.chat(field, "\"stream\":true")),
                suite.post(COMPLETIONS, completion(field)))) {
            assertThat(response.statusCode()).as(response.body()).isEqualTo(400);
            JsonNode error = Suite.JSON.readTree(response.body()).get("error");
            assertThat(error.get("message").asString()).isEqualTo(name + ": unknown field (expected: " + meant + ")");
            assertThat(error.get("param").asString()).isEqualTo(name);
            assertThat(error.get("code").asString()).isEqualTo("invalid_request");
        }
        assertThat(suite.decodeRequests()).isEmpty();
    }

    @Test
    void aMisspeltFieldThatIsMissingNowIsNamedRatherThanTheMissingOne() {
        HttpResponse<String> response = suite.post(CHAT, "{\"mesages\":[{\"role\":\"user\",\"content\":\"Hi\"}]}");

        assertThat(response.statusCode()).isEqualTo(400);
        assertThat(response.body()).contains("mesages: unknown field (expected: messages)");
    }

    @Test
    void aMisspeltStreamOptionIsRefused() {
        HttpResponse<String> response =
                suite.post(CHAT, Suite.chat("\"stream\":true", "\"stream_options\":{\"include_usages\":true}"));

        assertThat(response.statusCode()).isEqualTo(400);
        assertThat(response.body())
                .contains("stream_options.include_usages: unknown field (expected: stream_options.include_usage)");
    }

    @Test
    void fieldsWithoutEffectPassWithoutAWord() {
        String[] fields = {
            "\"user\":\"u\"",
            "\"metadata\":{\"a\":\"b\"}",
            "\"store\":true",
            "\"safety_identifier\":\"x\"",
            "\"service_tier\":\"auto\"",
            "\"prompt_cache_key\":\"x\"",
            "\"prompt_cache_retention\":\"24h\"",
            "\"parallel_tool_calls\":true",
            "\"prediction\":{\"type\":\"content\",\"content\":\"x\"}",
            "\"verbosity\":\"low\"",
            "\"reasoning_effort\":\"low\"",
            "\"include_reasoning\":true",
            "\"separate_reasoning\":true",
            "\"top_k\":5",
            "\"min_p\":0.1",
            "\"repetition_penalty\":1.0",
            "\"skip_special_tokens\":true",
            "\"chat_template_kwargs\":{\"enable_thinking\":false}",
            "\"stream\":true",
            "\"stream_options\":{\"include_usage\":true,\"include_obfuscation\":false,\"vendor_option\":1}",
        };

        HttpResponse<String> response = suite.post(CHAT, Suite.chat(fields));

        assertThat(response.statusCode()).as(response.body()).isEqualTo(200);
        assertThat(response.headers().firstValue(HEADER)).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                // OpenRouter, LiteLLM
                "models",
                "route",
                "provider",
                "transforms",
                "plugins",
                "reasoning",
                "usage",
                "top_a",
                "drop_params",
                "fallbacks",
                "mock_response",
                "session_id",
                // llama.cpp, Ollama, text-generation-inference
                "n_predict",
                "n_probs",
                "n_keep",
                "cache_prompt",
                "repeat_penalty",
                "repeat_last_n",
                "mirostat",
                "mirostat_tau",
                "typical_p",
                "tfs_z",
                "top_n_sigma",
                "dry_multiplier",
                "xtc_probability",
                "samplers",
                "id_slot",
                "options",
                "keep_alive",
                "think",
                "format",
                "max_new_tokens",
                "do_sample",
                "adapter_id",
                // vLLM, SGLang
                "kv_transfer_params",
                "vllm_xargs",
                "thinking_token_budget",
                "return_hidden_states",
                "extra_key",
                "data_parallel_rank",
                "bootstrap_room",
                "custom_params",
                "reasoning_parser",
                "ebnf",
                "regex",
                // other hosts
                "random_seed",
                "safe_prompt",
                "prefix",
                "system",
                "stop_sequences",
                "top_n",
                "enable_thinking",
                "thinking_budget",
                "enable_search",
                "search_parameters",
                "deferred",
                "reasoning_format",
                "do_not_know_this",
                "x"
            })
    void fieldsOfOtherServersPassAndAreNamed(String name) {
        String field = "\"" + name + "\":{\"x\":[1]}";
        for (HttpResponse<String> response : List.of(
                suite.post(CHAT, Suite.chat(field)),
                suite.post(CHAT, Suite.chat(field, "\"stream\":true")),
                suite.post(COMPLETIONS, completion(field)))) {
            assertThat(response.statusCode()).as(response.body()).isEqualTo(200);
            assertThat(response.headers().firstValue(HEADER)).hasValue(name);
        }
    }

    @Test
    void aFieldWithoutANameIsNamed() {
        HttpResponse<String> response = suite.post(COMPLETIONS, completion("\"\":1", "\"x\":1"));

        assertThat(response.statusCode()).as(response.body()).isEqualTo(200);
        assertThat(response.headers().firstValue(HEADER)).hasValue("\"\", x");
        HttpResponse<String> inference = suite.post("/inference", "{\"prompt\":\"Hi\",\"\":1}");
        assertThat(inference.statusCode()).isEqualTo(400);
        assertThat(inference.body()).contains("\\\"\\\": unknown field (expected: prompt, ");
    }

    @Test
    void aFieldOfTheOtherEndpointIsNamedToo() {
        String body = completion("\"messages\":[]", "\"reasoning_effort\":\"low\"", "\"tools\":null");

        HttpResponse<String> response = suite.post(COMPLETIONS, body);

        assertThat(response.statusCode()).as(response.body()).isEqualTo(200);
        assertThat(response.headers().firstValue(HEADER)).hasValue("messages, reasoning_effort");
    }

    @Test
    void aHeaderHoldsOnlyHarmlessCharactersAndIsShort() {
        StringBuilder many = new StringBuilder("\"Zürich\\r\\nSet-Cookie: a\":1");
        for (int i = 0; i < 5000; i++) {
            many.append(",\"").append("q".repeat(100)).append(i).append("\":1");
        }

        HttpResponse<String> response = suite.post(CHAT, Suite.chat(many.toString()));

        assertThat(response.statusCode()).as(response.body()).isEqualTo(200);
        assertThat(response.headers().firstValue("Set-Cookie")).isEmpty();
        assertThat(response.headers().firstValue(HEADER).orElseThrow())
                .startsWith("Z?rich??Set-Cookie??a, qqqq")
                .hasSizeLessThan(1200);
    }

    @Test
    void fieldsOfTokenizeAreTreatedAlike() {
        Map<String, String> bodies = Map.of("/tokenize", "\"prompt\":\"Hi\"", "/detokenize", "\"tokens\":[1]");
        bodies.forEach((path, body) -> {
            HttpResponse<String> silent = suite.post(path, "{" + body + ",\"user\":\"u\",\"rid\":\"1\"}");
            assertThat(silent.statusCode()).as(silent.body()).isEqualTo(200);
            assertThat(silent.headers().firstValue(HEADER)).isEmpty();
            HttpResponse<String> named =
                    suite.post(path, "{" + body + ",\"with_pieces\":1,\"models\":[],\"temperature\":0}");
            assertThat(named.statusCode()).as(named.body()).isEqualTo(200);
            assertThat(named.headers().firstValue(HEADER)).hasValue("with_pieces, models, temperature");
        });
    }

    @ParameterizedTest
    @CsvSource({
        "/tokenize,promt,prompt",
        "/tokenize,message,messages",
        "/tokenize,return_token_str,return_token_strs",
        "/tokenize,addGenerationPrompt,add_generation_prompt",
        "/detokenize,token,tokens",
        "/detokenize,modl,model"
    })
    void misspeltFieldsOfTokenizeAreRefused(String path, String name, String meant) {
        HttpResponse<String> response = suite.post(path, "{\"" + name + "\":[1]}");

        assertThat(response.statusCode()).as(response.body()).isEqualTo(400);
        JsonNode error = Suite.JSON.readTree(response.body()).get("error");
        assertThat(error.get("message").asString()).isEqualTo(name + ": unknown field (expected: " + meant + ")");
        assertThat(error.get("param").asString()).isEqualTo(name);
    }
}
