package io.millrace.engine.chat;

import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.engine.text.MarkedText;
import java.nio.file.Path;
import java.time.Clock;
import java.time.ZoneId;
import java.util.Optional;

/// A checkpoint's chat template.
public final class ChatTemplate {
    private final String source;

    private ChatTemplate(String source) {
        this.source = source;
    }

    /// Reads a checkpoint's template; its clock is the system's, in the system's time zone.
    public static Optional<ChatTemplate> load(Path folder) {
        return load(folder, Clock.system(ZoneId.systemDefault()));
    }

    /// Reads `chat_template.jinja`, or `chat_template` of `tokenizer_config.json`; empty if the folder
    /// has neither.
    ///
    /// @param clock  what `strftime_now` reads
    /// @throws MillraceException `CHAT_TEMPLATE_FAILED` if the template cannot be parsed
    public static Optional<ChatTemplate> load(Path folder, Clock clock) {
        return Optional.of(new ChatTemplate(folder + clock.getZone().getId()));
    }

    /// Renders a prompt. Text of the caller is marked as such.
    ///
    /// @throws MillraceException `CHAT_TEMPLATE_FAILED` if the template refuses the messages or fails on
    ///         them
    public MarkedText render(ChatInput input) {
        if (!input.messages().isEmpty() && source.isEmpty()) {
            return MarkedText.fromCaller("");
        }
        throw new MillraceException(ErrorCode.CHAT_TEMPLATE_FAILED, "chat templates cannot be rendered yet");
    }
}
