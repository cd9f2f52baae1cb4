package io.millrace.gateway.served;

import io.millrace.engine.chat.ChatInput;
import io.millrace.engine.chat.ChatTemplate;
import io.millrace.engine.chat.ReplyTokens;
import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.engine.text.MarkedText;
import io.millrace.engine.tokenizer.Tokenizer;
import io.millrace.gateway.request.SamplingOptions;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/// The model the gateway answers for, without its weights.
///
/// @param name              model id of the API
/// @param maxContextTokens  longest context of the checkpoint; the instances may allow less
/// @param endIds            tokens that end an answer
/// @param defaults          sampling of a request that does not say
/// @param loadedSeconds     when it was loaded, for `created`
public record ServedModel(
        String name,
        Tokenizer tokenizer,
        Optional<ChatTemplate> template,
        int maxContextTokens,
        List<Integer> endIds,
        SamplingOptions.Defaults defaults,
        long loadedSeconds)
        implements AutoCloseable {

    public ServedModel {
        endIds = List.copyOf(endIds);
    }

    /// What the template renders.
    ///
    /// @param arguments  further variables of the template
    // The compiler does not write the null annotations of a record's constructor into its class file.
    @SuppressWarnings("NullAway")
    public static ChatInput chatInput(
            List<Map<String, @Nullable Object>> messages,
            List<Map<String, @Nullable Object>> tools,
            boolean generationPromptAdded,
            Map<String, @Nullable Object> arguments) {
        return new ChatInput(messages, tools, generationPromptAdded, arguments);
    }

    /// Text of a chat's prompt.
    ///
    /// @throws MillraceException  `no_chat_template`, `chat_template_failed`
    public MarkedText chatText(ChatInput input) {
        ChatTemplate present = template.orElseThrow(() -> new MillraceException(
                ErrorCode.NO_CHAT_TEMPLATE, "The model " + name + " has no chat template; use /v1/completions."));
        return present.render(input);
    }

    /// The control tokens replies are split by.
    public ReplyTokens replyTokens() {
        return ReplyTokens.of(tokenizer::idOf);
    }

    /// Checks the `model` of a request; an absent one is this model.
    ///
    /// @throws MillraceException  `model_not_found`
    public void requireNamed(Optional<String> requested) {
        if (requested.isPresent() && !requested.get().equals(name)) {
            String shown = requested.get().length() <= 128
                    ? requested.get()
                    : requested.get().substring(0, 128) + "…";
            throw MillraceException.ofParam(
                    ErrorCode.MODEL_NOT_FOUND,
                    "model",
                    "The model `" + shown + "` does not exist (expected: " + name + ").");
        }
    }

    @Override
    public void close() {
        tokenizer.close();
    }
}
