package io.millrace.it.rest;

import java.util.List;
import java.util.Map;
import tools.jackson.databind.node.ObjectNode;

/// A request body and where it goes.
///
/// @param name  what a test report shows
public record Question(String name, String path, String body) {
    private static final String CHAT = "/v1/chat/completions";
    private static final String COMPLETIONS = "/v1/completions";
    private static final String TOOL = """
            {"type":"function","function":{"name":"calculator","description":"Evaluate an arithmetic expression.",
            "parameters":{"type":"object","properties":{"expression":{"type":"string"}},"required":["expression"]}}}""";

    /// A chat of one message.
    ///
    /// @param options  further fields, each `"name":value`
    public static Question chat(String name, String message, String... options) {
        ObjectNode body = RestClient.JSON.createObjectNode();
        body.putArray("messages").addObject().put("role", "user").put("content", message);
        return new Question(name, CHAT, with(body, options));
    }

    /// A text to go on with.
    public static Question completion(String name, String prompt, String... options) {
        ObjectNode body = RestClient.JSON.createObjectNode().put("prompt", prompt);
        return new Question(name, COMPLETIONS, with(body, options));
    }

    private static String with(ObjectNode body, String... options) {
        ObjectNode extra = (ObjectNode) RestClient.JSON.readTree("{" + String.join(",", options) + "}");
        for (Map.Entry<String, tools.jackson.databind.JsonNode> option : extra.properties()) {
            body.set(option.getKey(), option.getValue());
        }
        return body.toString();
    }

    /// The same question with one field set.
    ///
    /// @param value  JSON
    public Question with(String field, String value) {
        ObjectNode changed = (ObjectNode) RestClient.JSON.readTree(body);
        return new Question(name, path, with(changed, "\"" + field + "\":" + value));
    }

    /// The same question, to be answered as a stream that ends with its usage.
    public Question streamed() {
        Question streamed = with("stream", "true");
        return path.equals("/inference") ? streamed : streamed.with("stream_options", "{\"include_usage\":true}");
    }

    /// Questions over all endpoints and ways of sampling: some end by themselves, some by length, some by a
    /// stop string; one has a prompt of several blocks.
    public static List<Question> assorted() {
        return List.of(
                chat("chat greedy", "What is 37 + 58?", "\"temperature\":0", "\"max_tokens\":48"),
                chat(
                        "chat seeded",
                        "What is 412 + 79?",
                        "\"temperature\":1",
                        "\"seed\":7",
                        "\"max_tokens\":48",
                        "\"logprobs\":true",
                        "\"top_logprobs\":3"),
                chat(
                        "chat of two choices",
                        "Write a Java method that reverses a string.",
                        "\"n\":2",
                        "\"temperature\":1",
                        "\"seed\":11",
                        "\"max_tokens\":24"),
                chat(
                        "chat with a tool",
                        "Use the calculator: what is 128 * 46?",
                        "\"temperature\":0",
                        "\"max_tokens\":64",
                        "\"tools\":[" + TOOL + "]"),
                chat("long chat", longText(41), "\"temperature\":0", "\"max_tokens\":24", "\"logprobs\":true"),
                completion(
                        "completion greedy",
                        "public static int sum(int[] values) {",
                        "\"temperature\":0",
                        "\"max_tokens\":40",
                        "\"logprobs\":2"),
                completion(
                        "completion with a stop string",
                        "for (int i = 0; i < ",
                        "\"temperature\":1",
                        "\"seed\":3",
                        "\"max_tokens\":40",
                        "\"stop\":[\")\",\"}\"]"),
                new Question(
                        "inference",
                        "/inference",
                        "{\"prompt\":\"实现快速排序\",\"max_tokens\":32,\"temperature\":0,\"enable_mtp\":false}"));
    }

    /// A text of a few hundred tokens.
    ///
    /// @param key  texts of different keys differ from their first tokens on
    public static String longText(int key) {
        StringBuilder text = new StringBuilder("List " + key + ".");
        for (int i = 0; i < 24; i++) {
            text.append(" Item ")
                    .append(i)
                    .append(" costs ")
                    .append((key * 31 + i * 17) % 97)
                    .append(" coins.");
        }
        return text.append(" What does item 7 cost?").toString();
    }

    /// What a test report shows.
    @Override
    public String toString() {
        return name;
    }
}
