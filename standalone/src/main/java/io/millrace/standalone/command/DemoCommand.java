package io.millrace.standalone.command;

import io.millrace.standalone.client.MillraceClient;
import io.millrace.standalone.client.Reply;
import io.millrace.standalone.client.ReplyListener;
import java.io.IOException;
import java.io.PrintStream;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/// `millrace demo`: two questions, two answers, two receipts, and the end.
@Command(
        name = "demo",
        description = {
            "Starts the suite on a free port, asks two questions by REST, streams the answers and prints a receipt"
                    + " for each; then it ends. With --url it asks a suite that runs.",
            "What the model thinks before an answer comes in brackets.",
        })
public final class DemoCommand implements Callable<Integer> {
    private static final String CODE_QUESTION = "实现快速排序";
    private static final String SUM_QUESTION = "What is 37 + 58?";
    private static final int MAX_TOKENS = 512;
    /// Where `up` answers unless it is told otherwise.
    private static final String USUAL_URL = "http://127.0.0.1:8080";

    private final Console console;

    @Mixin
    private Session session = new Session();

    @Option(names = "--once", description = "Say nothing about how to go on.")
    private boolean once;

    @Option(names = "--quiet", description = "Print the answers alone.")
    private boolean quiet;

    public DemoCommand(Console console) {
        this.console = console;
    }

    @Override
    public Integer call() throws IOException {
        return session.run(console, () -> note(SuiteLauncher.STARTING), this::show);
    }

    private int show(MillraceClient client) throws IOException {
        note("model " + client.modelId() + ", ready");
        Map<String, @Nullable Object> code = question("prompt", CODE_QUESTION);
        ask("POST /inference", CODE_QUESTION, listener -> client.infer(code, listener));
        Map<String, @Nullable Object> sum =
                question("messages", List.of(Map.of("role", "user", "content", SUM_QUESTION)));
        ask("POST /v1/chat/completions", SUM_QUESTION, listener -> client.chat(sum, listener));
        if (!once && !quiet) {
            console.out().println(goOn(session.url()));
            console.out().flush();
        }
        return ExitCode.OK;
    }

    /// @param running  the suite that was asked, if it runs on
    static String goOn(Optional<String> running) {
        String first = running.isPresent() ? """

                To go on, ask it with
                """ : """

                To go on, start it with

                    ./millrace up

                and ask it from another terminal with
                """;
        return first + """

                    curl -N %1$s/v1/chat/completions -H 'Content-Type: application/json' \\
                      -d '{"messages": [{"role": "user", "content": "What is 37 + 58?"}], "stream": true}'

                or with ./millrace chat --url %1$s""".formatted(running.orElse(USUAL_URL));
    }

    /// Greedy, so that everybody sees the same.
    private static Map<String, @Nullable Object> question(String field, Object value) {
        Map<String, @Nullable Object> body = new LinkedHashMap<>();
        body.put(field, value);
        body.put("max_tokens", MAX_TOKENS);
        body.put("temperature", 0);
        return body;
    }

    private interface Asking {
        Reply ask(ReplyListener listener) throws IOException;
    }

    private void ask(String endpoint, String question, Asking asking) throws IOException {
        PrintStream out = console.out();
        if (!quiet) {
            out.println();
            out.println(endpoint + "  " + question);
            out.println();
            out.flush();
        }
        AnswerPrinter printer = new AnswerPrinter(out, !quiet);
        Reply reply = asking.ask(printer);
        printer.end();
        if (!quiet) {
            out.println();
            out.println("receipt: " + reply.receipt().line());
            out.flush();
        }
    }

    private void note(String text) {
        if (!quiet) {
            console.note(text);
        }
    }
}
