package io.millrace.standalone.command;

import io.millrace.engine.error.MillraceException;
import io.millrace.standalone.client.MillraceClient;
import io.millrace.standalone.client.Reply;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/// `millrace chat`: a conversation, line by line.
@Command(
        name = "chat",
        description = {
            "Talks with a model: each line is a message, the answer streams back, and the model remembers what was"
                    + " said. What it thinks before an answer comes in brackets.",
            "/new forgets it, /exit or the end of input ends the conversation."
        })
public final class ChatCommand implements Callable<Integer> {
    private final Console console;

    @Mixin
    private Session session = new Session();

    @Mixin
    private AnswerOptions answer = new AnswerOptions();

    @Option(names = "--system", paramLabel = "TEXT", description = "A system message to begin with.")
    private @Nullable String system;

    public ChatCommand(Console console) {
        this.console = console;
    }

    @Override
    public Integer call() throws IOException {
        return session.run(console, () -> {}, this::converse);
    }

    private int converse(MillraceClient client) throws IOException {
        console.note("model " + client.modelId() + "; /exit ends");
        BufferedReader lines = new BufferedReader(new InputStreamReader(console.in(), StandardCharsets.UTF_8));
        List<Map<String, String>> history = opening();
        String line = next(lines);
        while (line != null && !line.strip().equals("/exit")) {
            if (line.strip().equals("/new")) {
                history = opening();
            } else if (line.strip().startsWith("/")) {
                console.note("unknown command " + line.strip() + " (known: /new, /exit)");
            } else if (!line.isBlank()) {
                answer(client, history, line.strip());
            }
            line = next(lines);
        }
        return ExitCode.OK;
    }

    private List<Map<String, String>> opening() {
        List<Map<String, String>> history = new ArrayList<>();
        if (system != null) {
            history.add(message("system", system));
        }
        return history;
    }

    private @Nullable String next(BufferedReader lines) throws IOException {
        if (LoadingBar.hasTerminal()) {
            console.out().print("> ");
            console.out().flush();
        }
        return lines.readLine();
    }

    /// A question that fails is told and forgotten; the conversation goes on.
    private void answer(MillraceClient client, List<Map<String, String>> history, String question) throws IOException {
        history.add(message("user", question));
        Map<String, @Nullable Object> body = answer.fields();
        body.put("messages", history);
        AnswerPrinter printer = new AnswerPrinter(console.out(), true);
        try {
            Reply reply = client.chat(body, printer);
            printer.end();
            history.add(message("assistant", reply.text()));
        } catch (MillraceException e) {
            console.note(String.valueOf(e.getMessage()));
            history.removeLast();
        }
    }

    private static Map<String, String> message(String role, String content) {
        return Map.of("role", role, "content", content);
    }
}
