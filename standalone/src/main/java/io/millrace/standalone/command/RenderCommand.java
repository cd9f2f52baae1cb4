package io.millrace.standalone.command;

import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/// `millrace render`: messages to prompts.
@Command(
        name = "render",
        description = {
            "Renders chat messages to the prompt the model gets.",
            "Reads JSON lines {\"messages\", \"tools\", \"add_generation_prompt\", ...template arguments} and answers"
                    + " each with {\"text\"} or {\"error\"}. add_generation_prompt is true if absent. Messages that"
                    + " REST refuses are refused here, too.",
            "The folder needs no more than a chat_template.jinja.",
            "MILLRACE_NOW=2026-11-30T12:00:00Z fixes the template's clock."
        },
        exitCodeList = {
            "0:done (a line of input that could not be answered is answered with its error)",
            "1:failed; a sentence says why",
            "2:the command line cannot be understood"
        })
public final class RenderCommand implements Callable<Integer> {
    private final Console console;

    @Mixin
    private ModelOption model = new ModelOption();

    @Option(
            names = "--raw",
            description = "Give the messages to the template as they are, without normalising and checking them first.")
    private boolean raw;

    public RenderCommand(Console console) {
        this.console = console;
    }

    @Override
    public Integer call() throws IOException {
        PromptRenderer renderer = PromptRenderer.load(model.directory(), TemplateClock.of(console.environment()), !raw);
        new JsonLines(line -> text(renderer, line)).run(console.in(), console.out());
        return ExitCode.OK;
    }

    private static Map<String, @Nullable Object> text(PromptRenderer renderer, Map<String, @Nullable Object> line) {
        Map<String, @Nullable Object> answer = new LinkedHashMap<>();
        answer.put("text", renderer.render(line).text());
        return answer;
    }
}
