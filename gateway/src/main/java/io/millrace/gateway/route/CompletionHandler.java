package io.millrace.gateway.route;

import io.millrace.engine.text.MarkedText;
import io.millrace.gateway.generation.ChoicePlanner;
import io.millrace.gateway.generation.ChoiceTask;
import io.millrace.gateway.json.JsonFields;
import io.millrace.gateway.reply.CompletionFormat;
import io.millrace.gateway.reply.ReplyHead;
import io.millrace.gateway.request.CompletionRequest;
import io.millrace.gateway.request.CompletionRequest.Prompt;
import io.millrace.gateway.request.GenerationOptions;
import io.millrace.gateway.request.KnownFields;
import io.millrace.gateway.served.ServedModel;
import java.time.Clock;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.springframework.web.servlet.function.ServerRequest;
import org.springframework.web.servlet.function.ServerResponse;

/// `POST /v1/completions`. The prompt is taken as it is, control tokens in it included: whoever calls
/// this writes the
/// template's part too.
///
/// @param maxChoices  largest number of choices of all prompts together
record CompletionHandler(
        ServedModel model,
        ChoicePlanner planner,
        PromptReader prompts,
        GenerationResponder responder,
        JsonBody body,
        int maxChoices) {

    ServerResponse complete(ServerRequest request) {
        JsonFields fields = body.read(request);
        Exchange exchange = Exchange.of(request);
        exchange.ignoredFields(KnownFields.unknownOfCompletion(fields));
        CompletionRequest completion = CompletionRequest.read(fields, ChatHandler.limits(model, maxChoices));
        model.requireNamed(completion.model());
        GenerationOptions options = completion.options();
        List<ChoiceTask> tasks = new ArrayList<>();
        List<Integer> promptTokens = new ArrayList<>();
        for (Prompt prompt : completion.prompts()) {
            int[] ids = switch (prompt) {
                case Prompt.Text(String text) -> prompts.promptIds(request, MarkedText.trusted(text));
                case Prompt.Ids(List<Integer> given) ->
                    given.stream().mapToInt(Integer::intValue).toArray();
            };
            tasks.addAll(planner.plan(exchange.internalId(), ids, options, tasks.size(), _ -> Optional.empty()));
            promptTokens.add(ids.length);
        }
        ReplyHead head = new ReplyHead(
                "cmpl-" + exchange.internalId(),
                Clock.systemUTC().instant().getEpochSecond(),
                model.name(),
                options.stream().usageIncluded());
        CompletionFormat format = new CompletionFormat(
                head, tasks.size(), options.sampling().topLogprobs().isPresent());
        return responder.respond(request, new GenerationJob(tasks, promptTokens, options, format));
    }
}
