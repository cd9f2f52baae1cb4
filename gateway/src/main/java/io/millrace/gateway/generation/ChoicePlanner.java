package io.millrace.gateway.generation;

import io.millrace.engine.chat.ReplyParser;
import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.gateway.request.GenerationOptions;
import io.millrace.gateway.request.SamplingOptions;
import io.millrace.gateway.router.Router;
import io.millrace.gateway.served.ServedModel;
import io.millrace.proto.v1.GenerateRequest;
import io.millrace.proto.v1.Sampling;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.IntFunction;
import java.util.random.RandomGenerator;

/// Makes the tasks of a request: checks that the prompt fits, fills in what the request leaves open.
///
/// @param seeds  where seeds come from that a request does not give
public record ChoicePlanner(ServedModel model, Router router, RandomGenerator seeds) {
    private static final int COUNTED_CONTEXTS = 4;

    /// Tasks for all choices of one prompt.
    ///
    /// @param requestId   internal id, unique among all requests
    /// @param firstIndex  number of the prompt's first choice
    /// @param parsers     parser of the choice with a given number; empty: all text is content
    /// @throws MillraceException  `context_length_exceeded`, `kv_pool_exceeded`
    public List<ChoiceTask> plan(
            String requestId,
            int[] promptIds,
            GenerationOptions options,
            int firstIndex,
            IntFunction<Optional<ReplyParser>> parsers) {
        int maxTokens = maxTokens(promptIds.length, options);
        long seed = options.seed().isPresent() ? options.seed().getAsLong() : seeds.nextLong();
        GenerateRequest.Builder request = GenerateRequest.newBuilder()
                .setRequestId(requestId)
                .setSampling(sampling(options.sampling()))
                .setSeed(seed)
                .addAllStopIds(stopIds(options))
                .addAllStopStrings(options.stop().strings())
                .setMaxTokens(maxTokens)
                .setEnableMtp(options.enableMtp());
        for (int id : promptIds) {
            request.addPromptIds(id);
        }
        List<ChoiceTask> tasks = new ArrayList<>();
        for (int i = 0; i < options.choices(); i++) {
            int index = firstIndex + i;
            tasks.add(
                    new ChoiceTask(index, request.setChoiceIndex(index).build(), options.stop(), parsers.apply(index)));
        }
        return tasks;
    }

    /// Tokens of prompt and answer together that can be served: the checkpoint's context, or less where no
    /// running instance holds as many.
    public int contextTokens() {
        return (int) Math.min(model.maxContextTokens(), router.servedTokens().orElse(Integer.MAX_VALUE));
    }

    /// Checks what is known of a prompt before it is tokenized.
    ///
    /// @param leastTokens  it has at least so many
    /// @throws MillraceException  `context_length_exceeded`, `kv_pool_exceeded`
    public void requireRoom(int leastTokens) {
        int context = contextTokens();
        if (leastTokens >= context) {
            throw tooLong("at least ", leastTokens, context);
        }
    }

    /// Checks what is known of a text that is to be counted only: it may be longer than the context, so that who
    /// asks learns by how much, but not by far.
    ///
    /// @param leastTokens  it has at least so many
    /// @throws MillraceException  `context_length_exceeded`
    public void requireCountable(int leastTokens) {
        int context = contextTokens();
        if (leastTokens > (long) COUNTED_CONTEXTS * context) {
            throw new MillraceException(
                    ErrorCode.CONTEXT_LENGTH_EXCEEDED,
                    "This model's maximum context length is " + context + " tokens, and texts of up to "
                            + COUNTED_CONTEXTS + " times as many are tokenized, but this one has at least "
                            + leastTokens + " tokens.");
        }
    }

    /// What fits, at most as much as asked for: editors always ask for 65,535.
    private int maxTokens(int promptTokens, GenerationOptions options) {
        int context = contextTokens();
        if (promptTokens < 1) {
            throw MillraceException.ofParam(
                    ErrorCode.INVALID_REQUEST, "prompt", "prompt: 0 tokens (expected: at least 1)");
        }
        if (promptTokens >= context) {
            throw tooLong("", promptTokens, context);
        }
        int room = context - promptTokens;
        return Math.min(options.maxTokens().orElse(room), room);
    }

    private MillraceException tooLong(String bound, int promptTokens, int context) {
        int positions =
                Math.min(model.maxContextTokens(), router.maxContextTokens().orElse(Integer.MAX_VALUE));
        String rest = ", but the prompt has " + bound + promptTokens + " tokens, which leaves no room for an answer.";
        if (promptTokens < positions) {
            return new MillraceException(
                    ErrorCode.KV_POOL_EXCEEDED, "The whole KV pool holds " + context + " tokens" + rest);
        }
        String why = context < positions ? " (the model has " + positions + " positions, the KV pool fewer)" : "";
        return new MillraceException(
                ErrorCode.CONTEXT_LENGTH_EXCEEDED,
                "This model's maximum context length is " + context + " tokens" + why + rest);
    }

    private List<Integer> stopIds(GenerationOptions options) {
        List<Integer> ids = new ArrayList<>(options.stop().ids());
        if (!options.stop().endTokensIgnored()) {
            ids.addAll(model.endIds());
        }
        return ids.stream().distinct().toList();
    }

    private static Sampling sampling(SamplingOptions options) {
        Sampling.Builder sampling = Sampling.newBuilder().setTemperature(options.temperature());
        if (options.topK() > 0) {
            sampling.setTopK(options.topK());
        }
        if (options.topP() < 1) {
            sampling.setTopP(options.topP());
        }
        if (options.minP() > 0) {
            sampling.setMinP(options.minP());
        }
        options.topLogprobs().ifPresent(sampling::setTopLogprobs);
        return sampling.build();
    }
}
