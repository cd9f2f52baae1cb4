package io.millrace.standalone.command;

import io.millrace.engine.text.MarkedText;
import io.millrace.engine.tokenizer.Tokenizer;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/// `millrace tokenize`: text to token ids and back.
@Command(
        name = "tokenize",
        description = {
            "Turns text into token ids and ids into text.",
            "Reads JSON lines: {\"text\"} is answered with {\"ids\"}, {\"ids\"} with {\"text\"}, and a line of"
                    + " render ({\"messages\", ...}) with the {\"ids\"} of its prompt. What fails is answered"
                    + " with {\"error\"}.",
            "The names of REST's /tokenize and /detokenize are taken, too: {\"prompt\"} is answered with"
                    + " {\"tokens\"}, {\"tokens\"} with {\"prompt\"}.",
            "The folder needs no more than a tokenizer.json; only lines with messages need its chat template."
        },
        exitCodeList = {
            "0:done (a line of input that could not be answered is answered with its error)",
            "1:failed; a sentence says why",
            "2:the command line cannot be understood"
        })
public final class TokenizeCommand implements Callable<Integer> {
    private final Console console;

    @Mixin
    private ModelOption model = new ModelOption();

    @Option(
            names = "--caller-text",
            description = "Encode {\"text\"} as a caller's words: control tokens spelled in it stay plain text.")
    private boolean callerText;

    @Option(names = "--skip-special", description = "Leave special tokens out when decoding {\"ids\"}.")
    private boolean skipSpecial;

    private @Nullable PromptRenderer renderer;

    public TokenizeCommand(Console console) {
        this.console = console;
    }

    @Override
    public Integer call() throws IOException {
        try (Tokenizer tokenizer = Tokenizer.load(model.directory())) {
            new JsonLines(line -> answer(tokenizer, line)).run(console.in(), console.out());
        }
        return ExitCode.OK;
    }

    private Map<String, @Nullable Object> answer(Tokenizer tokenizer, Map<String, @Nullable Object> line) {
        Map<String, @Nullable Object> answer = new LinkedHashMap<>();
        Fields fields = new Fields(line);
        if (fields.has("messages")) {
            answer.put("ids", tokenizer.encode(renderer().render(line)));
        } else if (fields.has("text")) {
            answer.put("ids", encode(tokenizer, fields, "text"));
        } else if (fields.has("prompt")) {
            answer.put("tokens", encode(tokenizer, fields, "prompt"));
        } else if (fields.has("ids")) {
            answer.put("text", decode(tokenizer, fields, "ids"));
        } else if (fields.has("tokens")) {
            answer.put("prompt", decode(tokenizer, fields, "tokens"));
        } else {
            throw Fields.invalid("text", "missing (expected: one of text, ids and messages)");
        }
        return answer;
    }

    private int[] encode(Tokenizer tokenizer, Fields fields, String name) {
        String text = fields.takeText(name);
        fields.expectNothingElse(name + " alone");
        return tokenizer.encode(callerText ? MarkedText.fromCaller(text) : MarkedText.trusted(text));
    }

    private String decode(Tokenizer tokenizer, Fields fields, String name) {
        int[] ids = fields.takeIds(name);
        fields.expectNothingElse(name + " alone");
        checkKnown(tokenizer, ids);
        return tokenizer.decode(ids, skipSpecial);
    }

    /// A model may yield ids beyond the tokenizer's; typed by a person they are a mistake.
    private static void checkKnown(Tokenizer tokenizer, int[] ids) {
        for (int id : ids) {
            if (id < 0 || id >= tokenizer.vocabSize()) {
                throw Fields.invalid("token id", id + " (expected: 0.." + (tokenizer.vocabSize() - 1) + ")");
            }
        }
    }

    private PromptRenderer renderer() {
        if (renderer == null) {
            renderer = PromptRenderer.load(model.directory(), TemplateClock.of(console.environment()), true);
        }
        return renderer;
    }
}
