package io.millrace.engine.chat;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.engine.jinja.Jinja2Oracle;
import java.io.IOException;
import java.io.InputStream;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/// Random message lists through templates in the style of published families, compared with Python's
/// Jinja2.
class ChatTemplatesAgainstReferenceTest {
    private static final Clock CLOCK =
            Clock.fixed(LocalDateTime.parse(Jinja2Oracle.NOW).toInstant(ZoneOffset.UTC), ZoneOffset.UTC);
    private static final int LISTS = 220;
    private static final List<String> STYLES = List.of(
            "chatml",
            "header_style",
            "inst_style",
            "fullwidth_style",
            "reversed_slice_style",
            "glm5_style",
            "glm51_style",
            "glm52_style",
            "schema_style");
    private static final String[] TEXTS = {
        "Hello",
        "",
        "  spaced\t\n",
        "多行\n文本 👋🏽",
        "<think>why</think>\n\nbecause",
        "{{ not }} {% code %}",
        "a\u00a0b\u3000",
        "<|user|>[gMASK]",
        "\"quoted\" 'it''s' \\",
        "<tool_response>x</tool_response>",
        "line\r\nline",
        "ΑΣΣ ßtraße",
        "</think>tail",
        "50% {x}",
        "\n\nlead"
    };

    private final Random random = new Random(20260305);

    @Test
    void rendersMessageListsAsTheReferenceDoes() throws IOException {
        Optional<Jinja2Oracle> started = Jinja2Oracle.start();
        assumeTrue(started.isPresent(), "python3 with jinja2 is missing");
        Map<String, String> sources = new LinkedHashMap<>();
        for (String style : STYLES) {
            sources.put(style, resource(style));
        }
        sources.put(
                "mini",
                Files.readString(
                        Path.of(System.getProperty("millrace.root"), "models", "mini", "chat_template.jinja")));
        List<Case> cases = new ArrayList<>();
        for (int i = 0; i < LISTS; i++) {
            cases.add(randomCase());
        }
        Map<String, Integer> rendered = new HashMap<>();
        try (Jinja2Oracle oracle = started.get()) {
            sources.forEach((style, source) -> {
                ChatTemplate template = ChatTemplate.of(source, CLOCK);
                for (Case one : cases) {
                    if (compare(oracle, style, source, template, one)) {
                        rendered.merge(style, 1, Integer::sum);
                    }
                }
            });
        }
        // Some styles refuse some lists, on both sides; most lists must come through.
        assertThat(rendered.keySet()).containsExactlyInAnyOrderElementsOf(sources.keySet());
        assertThat(rendered)
                .allSatisfy((style, count) -> assertThat(count).as(style).isGreaterThan(20));
        assertThat(rendered.get("mini")).isEqualTo(LISTS);
    }

    private record Case(ChatInput input) {}

    private static boolean compare(Jinja2Oracle oracle, String style, String source, ChatTemplate template, Case one) {
        ChatInput input = one.input();
        Map<String, @Nullable Object> variables = new LinkedHashMap<>(input.templateArguments());
        variables.put("messages", input.messages());
        variables.put("tools", input.tools().isEmpty() ? null : input.tools());
        variables.put("documents", null);
        variables.put("add_generation_prompt", input.addGenerationPrompt());
        Jinja2Oracle.Answer theirs = oracle.render(source, variables);
        try {
            String ours = template.render(input).text();
            assertThat(theirs).as(style + " " + variables).isEqualTo(new Jinja2Oracle.Answer.Rendered(ours));
            return true;
        } catch (MillraceException e) {
            assertThat(e.code()).isEqualTo(ErrorCode.CHAT_TEMPLATE_FAILED);
            assertThat(theirs)
                    .as(style + " " + variables + " " + e.getMessage())
                    .isInstanceOf(Jinja2Oracle.Answer.Failed.class);
            return false;
        }
    }

    private static String resource(String style) throws IOException {
        try (InputStream file = Objects.requireNonNull(
                ChatTemplatesAgainstReferenceTest.class.getResourceAsStream("/chat_templates/" + style + ".jinja"))) {
            return new String(file.readAllBytes(), StandardCharsets.UTF_8);
        }
    }

    private String text() {
        return TEXTS[random.nextInt(TEXTS.length)];
    }

    private Case randomCase() {
        List<Object> messages = new ArrayList<>();
        if (random.nextBoolean()) {
            messages.add(message("system", text()));
        }
        int turns = random.nextInt(4);
        for (int i = 0; i <= turns; i++) {
            messages.add(message("user", random.nextInt(5) == 0 ? parts() : text()));
            if (i < turns || random.nextInt(4) == 0) {
                assistantTurn(messages);
            }
        }
        Map<String, @Nullable Object> arguments = new LinkedHashMap<>();
        for (String flag : List.of("enable_thinking", "clear_thinking", "thinking", "tools_in_user_message")) {
            if (random.nextInt(3) == 0) {
                arguments.put(flag, random.nextBoolean());
            }
        }
        if (random.nextInt(4) == 0) {
            arguments.put("reasoning_effort", random.nextBoolean() ? "high" : "max");
        }
        arguments.put("bos_token", "<bos>");
        return new Case(new ChatInput(
                ChatMessages.normalise(messages),
                ChatMessages.normaliseTools(random.nextBoolean() ? tools() : null),
                random.nextInt(4) > 0,
                arguments));
    }

    private void assistantTurn(List<Object> messages) {
        Map<String, @Nullable Object> assistant = message("assistant", random.nextInt(5) == 0 ? null : text());
        if (random.nextInt(3) == 0) {
            assistant.put("reasoning_content", text());
        }
        messages.add(assistant);
        if (random.nextInt(3) > 0) {
            return;
        }
        List<Object> calls = new ArrayList<>();
        for (int i = random.nextInt(3); i >= 0; i--) {
            Map<String, @Nullable Object> function = new LinkedHashMap<>();
            function.put("name", random.nextBoolean() ? "search" : "计算");
            function.put("arguments", random.nextBoolean() ? arguments() : "{\"n\": 1, \"s\": \"7\"}");
            Map<String, @Nullable Object> call = new LinkedHashMap<>();
            call.put("id", random.nextBoolean() ? "call_" + i : null);
            call.put("type", "function");
            call.put("function", function);
            calls.add(call);
        }
        assistant.put("tool_calls", calls);
        for (int i = 0; i < calls.size(); i++) {
            messages.add(message("tool", random.nextBoolean() ? parts() : text()));
        }
        messages.add(message("assistant", text()));
    }

    private static Map<String, @Nullable Object> message(String role, @Nullable Object content) {
        Map<String, @Nullable Object> message = new LinkedHashMap<>();
        message.put("role", role);
        message.put("content", content);
        return message;
    }

    private List<Object> parts() {
        return List.of(Map.of("type", "text", "text", text()), Map.of("type", "text", "text", text()));
    }

    private Map<String, @Nullable Object> arguments() {
        Map<String, @Nullable Object> arguments = new LinkedHashMap<>();
        List<@Nullable Object> values = Arrays.asList(
                text(),
                7,
                -1.5,
                1e-7,
                1e16,
                true,
                null,
                new BigInteger("123456789012345678901234567890"),
                List.of(1, "二"),
                Map.of("k", List.of()),
                Map.of(),
                "3");
        for (int i = random.nextInt(4); i > 0; i--) {
            arguments.put(
                    List.of("q", "城市", "items", "n").get(random.nextInt(4)), values.get(random.nextInt(values.size())));
        }
        return arguments;
    }

    private List<Object> tools() {
        List<Object> tools = new ArrayList<>();
        for (int i = random.nextInt(3); i >= 0; i--) {
            Map<String, Object> properties = new LinkedHashMap<>();
            properties.put("items", Map.of("type", "array", "items", Map.of("type", "string")));
            properties.put("unit", Map.of("enum", List.of("C", "F", 1)));
            properties.put("Days", Map.of("type", "integer"));
            Map<String, Object> parameters = new LinkedHashMap<>();
            parameters.put("type", "object");
            parameters.put("properties", properties);
            parameters.put("required", List.of("unit"));
            Map<String, @Nullable Object> function = new LinkedHashMap<>();
            function.put("name", "tool_" + i);
            function.put("description", text());
            function.put("strict", random.nextBoolean() ? null : true);
            function.put("parameters", random.nextInt(4) == 0 ? Map.of() : parameters);
            tools.add(Map.of("type", "function", "function", function));
        }
        return tools;
    }
}
