package io.millrace.engine.chat;

import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.engine.text.MarkedText;
import java.nio.file.Path;
import java.time.Clock;
import java.util.Optional;

/// A checkpoint's chat template.
public final class ChatTemplate {
    private ChatTemplate() {}

    /// Reads a checkpoint's template with the system's clock: `load(folder, Clock.systemDefaultZone())`.
    public static Optional<ChatTemplate> load(Path folder) {
        return load(folder, Clock.systemDefaultZone());
    }

    /// Reads `chat_template.jinja`, or `chat_template` of `tokenizer_config.json`; empty if the folder
    /// has neither.
    ///
    /// @param clock  what `strftime_now` reads
    /// @throws MillraceException `CHAT_TEMPLATE_FAILED` if the template cannot be parsed
    public static Optional<ChatTemplate> load(Path folder, Clock clock) {
        return Optional.of(new ChatTemplate());
    }

    /// Renders a prompt. Text of the caller is marked as such.
    ///
    /// @throws MillraceException `CHAT_TEMPLATE_FAILED` if the template refuses the messages or fails on
    ///         them
    public MarkedText render(ChatInput input) {
        throw new MillraceException(ErrorCode.CHAT_TEMPLATE_FAILED, "chat templates cannot be rendered yet");
    }
}
