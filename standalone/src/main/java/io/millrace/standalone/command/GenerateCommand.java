package io.millrace.standalone.command;

import io.millrace.standalone.client.MillraceClient;
import io.millrace.standalone.client.Reply;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/// `millrace generate`: one prompt, its text.
@Command(
        name = "generate",
        description = {
            "Answers one prompt, the argument or, without one, standard input; prints the answer alone.",
            "The prompt is one message of a chat; with --raw the model goes on with the text as it stands."
        })
public final class GenerateCommand implements Callable<Integer> {
    private static final int MAX_PROMPT_BYTES = 8 << 20;

    private final Console console;

    @Spec
    private CommandSpec spec = CommandSpec.create();

    @Mixin
    private Session session = new Session();

    @Mixin
    private AnswerOptions answer = new AnswerOptions();

    @Parameters(arity = "0..1", paramLabel = "PROMPT", description = "The prompt.")
    private @Nullable String prompt;

    @Option(names = "--raw", description = "Without the chat format: go on with the text.")
    private boolean raw;

    public GenerateCommand(Console console) {
        this.console = console;
    }

    @Override
    public Integer call() throws IOException {
        String text = prompt == null ? fromInput() : prompt;
        if (text.isEmpty()) {
            throw new ParameterException(
                    spec.commandLine(), "the prompt is empty (expected: text as argument or on standard input)");
        }
        return session.run(console, () -> {}, client -> generate(client, text));
    }

    private String fromInput() throws IOException {
        byte[] bytes = console.in().readNBytes(MAX_PROMPT_BYTES + 1);
        if (bytes.length > MAX_PROMPT_BYTES) {
            throw new ParameterException(
                    spec.commandLine(), "the prompt is longer than " + MAX_PROMPT_BYTES + " bytes");
        }
        return new String(bytes, StandardCharsets.UTF_8).strip();
    }

    private int generate(MillraceClient client, String text) throws IOException {
        Map<String, @Nullable Object> body = answer.fields();
        AnswerPrinter printer = new AnswerPrinter(console.out(), false);
        Reply reply;
        if (raw) {
            body.put("prompt", text);
            reply = client.complete(body, printer);
        } else {
            body.put("messages", List.of(Map.of("role", "user", "content", text)));
            reply = client.chat(body, printer);
        }
        printer.end();
        noteNoText(reply);
        return ExitCode.OK;
    }

    /// An empty line alone would leave the question open.
    private void noteNoText(Reply reply) {
        if (!reply.text().isEmpty()) {
            return;
        }
        String tokens = reply.receipt().completionTokens() + " tokens"
                + (reply.reasoning().isEmpty() ? "" : ", all of them of its reasoning");
        boolean isCutOff = reply.finishReason().equals("length");
        console.note("the answer has no text: it "
                + (isCutOff
                        ? "was cut off after " + tokens + " (expected: a larger --max-tokens, or a shorter prompt)"
                        : "ended by itself after " + tokens));
    }
}
