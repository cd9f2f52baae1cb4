package io.millrace.engine.chat;

import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.engine.file.RegularFile;
import io.millrace.engine.jinja.JinjaException;
import io.millrace.engine.jinja.JinjaLimits;
import io.millrace.engine.jinja.JinjaTemplate;
import io.millrace.engine.text.MarkedText;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/// A checkpoint's chat template, rendered as Hugging Face transformers renders it.
///
/// The template's own text, the special tokens of the tokenizer's configuration and the known roles are
/// trusted; all other text, template arguments included, is the caller's. Roles have to be trusted as
/// some templates write `'<|' + message.role + '|>'`.
public final class ChatTemplate {
    private static final String FILE = "chat_template.jinja";
    private static final String CONFIG_FILE = "tokenizer_config.json";
    private static final long MAX_FILE_BYTES = 64L << 20;
    private static final Set<String> RESERVED = Set.of("messages", "tools", "add_generation_prompt");
    private static final Set<String> TRUSTED_ROLES =
            Set.of("system", "developer", "user", "assistant", "tool", "function", "observation", "model", "ipython");
    private static final List<String> SPECIAL_TOKENS =
            List.of("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token");

    private final JinjaTemplate template;
    private final Optional<JinjaTemplate> toolTemplate;
    private final Map<String, MarkedText> specialTokens;
    private final Clock clock;

    private ChatTemplate(
            JinjaTemplate template,
            Optional<JinjaTemplate> toolTemplate,
            Map<String, MarkedText> specialTokens,
            Clock clock) {
        this.template = template;
        this.toolTemplate = toolTemplate;
        this.specialTokens = Map.copyOf(specialTokens);
        this.clock = clock;
    }

    /// Reads a checkpoint's template; its clock is the system's, in the system's time zone.
    public static Optional<ChatTemplate> load(Path folder) {
        return load(folder, Clock.system(ZoneId.systemDefault()));
    }

    /// Reads `chat_template.jinja`, or `chat_template` of `tokenizer_config.json` (a text, or a list of
    /// named ones of which `default` and `tool_use` are used); empty if the folder has neither.
    ///
    /// @param clock  what `strftime_now` reads
    /// @throws MillraceException `CHAT_TEMPLATE_FAILED` if the template cannot be parsed,
    ///                           `INVALID_CHECKPOINT` if a file cannot be read
    public static Optional<ChatTemplate> load(Path folder, Clock clock) {
        Path configFile = folder.resolve(CONFIG_FILE);
        Map<?, ?> config = Files.exists(configFile) ? config(configFile) : Map.of();
        Map<String, MarkedText> specialTokens = specialTokens(config);
        Path file = folder.resolve(FILE);
        if (Files.exists(file)) {
            return Optional.of(new ChatTemplate(parse(read(file), file), Optional.empty(), specialTokens, clock));
        }
        Object source = config.get("chat_template");
        if (source instanceof String text) {
            return Optional.of(new ChatTemplate(parse(text, configFile), Optional.empty(), specialTokens, clock));
        }
        if (source instanceof List<?> named) {
            Optional<JinjaTemplate> standard = named(named, "default").map(text -> parse(text, configFile));
            Optional<JinjaTemplate> tools = named(named, "tool_use").map(text -> parse(text, configFile));
            return standard.or(() -> tools).map(main -> new ChatTemplate(main, tools, specialTokens, clock));
        }
        return Optional.empty();
    }

    /// A template from its text, without special tokens.
    ///
    /// @throws MillraceException `CHAT_TEMPLATE_FAILED` if it cannot be parsed
    public static ChatTemplate of(String source, Clock clock) {
        return new ChatTemplate(parse(source, Path.of(FILE)), Optional.empty(), Map.of(), clock);
    }

    /// Renders a prompt.
    ///
    /// @return the prompt, with text of the caller marked as such
    /// @throws MillraceException `CHAT_TEMPLATE_FAILED` if the template refuses the messages or fails on
    ///                           them; `INVALID_REQUEST` if a template argument has the name of one of
    ///                           the other inputs
    public MarkedText render(ChatInput input) {
        Map<String, @Nullable Object> variables = new LinkedHashMap<>(specialTokens);
        variables.put("documents", null);
        input.templateArguments().forEach((name, value) -> {
            if (RESERVED.contains(name)) {
                String param = "chat_template_kwargs." + name;
                throw MillraceException.ofParam(
                        ErrorCode.INVALID_REQUEST, param, param + ": a name that is taken (expected: another name)");
            }
            variables.put(name, value);
        });
        variables.put("messages", withTrustedRoles(input.messages()));
        variables.put("tools", input.tools().isEmpty() ? null : input.tools());
        variables.put("add_generation_prompt", input.addGenerationPrompt());
        JinjaTemplate chosen = input.tools().isEmpty() ? template : toolTemplate.orElse(template);
        try {
            return chosen.render(variables, clock);
        } catch (JinjaException e) {
            throw failed(e, "the chat template");
        }
    }

    private static List<Map<String, @Nullable Object>> withTrustedRoles(List<Map<String, @Nullable Object>> messages) {
        List<Map<String, @Nullable Object>> marked = new ArrayList<>(messages.size());
        for (Map<String, @Nullable Object> message : messages) {
            Map<String, @Nullable Object> copy = new LinkedHashMap<>(message);
            if (message.get("role") instanceof String role && TRUSTED_ROLES.contains(role)) {
                copy.put("role", MarkedText.trusted(role));
            }
            marked.add(copy);
        }
        return marked;
    }

    private static JinjaTemplate parse(String source, Path file) {
        try {
            return JinjaTemplate.parse(source, JinjaLimits.DEFAULT);
        } catch (JinjaException e) {
            throw failed(e, "the chat template of " + file.getFileName());
        }
    }

    private static MillraceException failed(JinjaException e, String what) {
        String sentence = switch (e.kind()) {
            case RAISED -> what + " refuses these messages: " + e.reason();
            case SYNTAX -> what + " cannot be read: " + e.getMessage();
            case UNSUPPORTED, LIMIT, RUNTIME -> what + " fails: " + e.getMessage();
        };
        return new MillraceException(ErrorCode.CHAT_TEMPLATE_FAILED, sentence, e);
    }

    private static Optional<String> named(List<?> templates, String name) {
        for (Object entry : templates) {
            if (entry instanceof Map<?, ?> map
                    && name.equals(map.get("name"))
                    && map.get("template") instanceof String text) {
                return Optional.of(text);
            }
        }
        return Optional.empty();
    }

    private static Map<String, MarkedText> specialTokens(Map<?, ?> config) {
        Map<String, MarkedText> tokens = new LinkedHashMap<>();
        for (String name : SPECIAL_TOKENS) {
            Object token = config.get(name) instanceof Map<?, ?> added ? added.get("content") : config.get(name);
            if (token instanceof String text) {
                tokens.put(name, MarkedText.trusted(text));
            }
        }
        return tokens;
    }

    private static Map<?, ?> config(Path file) {
        if (Json.read(read(file)) instanceof Json.Parsed.Value(Map<?, ?> config)) {
            return config;
        }
        throw new MillraceException(ErrorCode.INVALID_CHECKPOINT, file + ": no JSON object (expected: one)");
    }

    private static String read(Path file) {
        RegularFile.requireIfThere(file);
        try {
            long sizeBytes = Files.size(file);
            if (sizeBytes > MAX_FILE_BYTES) {
                throw new MillraceException(
                        ErrorCode.INVALID_CHECKPOINT,
                        file + ": " + sizeBytes + " bytes (expected: at most " + MAX_FILE_BYTES + ")");
            }
            return Files.readString(file);
        } catch (IOException e) {
            throw new MillraceException(ErrorCode.INVALID_CHECKPOINT, file + ": cannot be read as text", e);
        }
    }
}
