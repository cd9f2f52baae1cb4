package io.millrace.gateway.route;

import io.millrace.engine.chat.ChatInput;
import io.millrace.engine.chat.ReplyParser;
import io.millrace.engine.chat.ReplyTokens;
import io.millrace.gateway.generation.ChoicePlanner;
import io.millrace.gateway.generation.ChoiceTask;
import io.millrace.gateway.json.JsonFields;
import io.millrace.gateway.reply.ChatFormat;
import io.millrace.gateway.reply.InferenceFormat;
import io.millrace.gateway.reply.ReplyFormat;
import io.millrace.gateway.reply.ReplyHead;
import io.millrace.gateway.request.ChatRequest;
import io.millrace.gateway.request.GenerationOptions;
import io.millrace.gateway.request.InferenceRequest;
import io.millrace.gateway.request.KnownFields;
import io.millrace.gateway.served.ServedModel;
import java.time.Clock;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.springframework.web.servlet.function.ServerRequest;
import org.springframework.web.servlet.function.ServerResponse;

/// `POST /v1/chat/completions`, and `POST /inference`, which is a chat of one message with an answer of
/// its own shape.
///
/// @param maxChoices  largest `n`
record ChatHandler(
        ServedModel model,
        ChoicePlanner planner,
        PromptReader prompts,
        GenerationResponder responder,
        JsonBody body,
        int maxChoices) {

    ServerResponse chat(ServerRequest request) {
        JsonFields fields = body.read(request);
        Exchange exchange = Exchange.of(request);
        exchange.ignoredFields(KnownFields.unknownOfChat(fields));
        ChatRequest chat = ChatRequest.read(fields, limits(model, maxChoices));
        model.requireNamed(chat.model());
        ChatInput input = ServedModel.chatInput(chat.messages(), chat.tools(), true, chat.templateArguments());
        ReplyHead head = new ReplyHead(
                "chatcmpl-" + exchange.internalId(),
                Clock.systemUTC().instant().getEpochSecond(),
                model.name(),
                chat.options().stream().usageIncluded());
        ReplyFormat format = new ChatFormat(
                head,
                chat.options().choices(),
                chat.options().sampling().topLogprobs().isPresent());
        return respond(request, input, chat.options(), format);
    }

    ServerResponse inference(ServerRequest request) {
        JsonFields fields = body.read(request);
        InferenceRequest inference = InferenceRequest.read(fields, limits(model, maxChoices));
        Map<String, @Nullable Object> message = new LinkedHashMap<>();
        message.put("role", "user");
        message.put("content", inference.prompt());
        return respond(request, ChatInput.of(List.of(message)), inference.options(), new InferenceFormat());
    }

    private ServerResponse respond(
            ServerRequest request, ChatInput input, GenerationOptions options, ReplyFormat format) {
        int[] promptIds = prompts.promptIds(request, model.chatText(input));
        ReplyTokens tokens = model.replyTokens();
        ReplyTokens.Thinking thinking = tokens.thinking(promptIds);
        String id = Exchange.of(request).internalId();
        List<ChoiceTask> tasks = planner.plan(
                id,
                promptIds,
                options,
                0,
                choice -> Optional.of(new ReplyParser(tokens, thinking, input.tools(), id + "/" + choice)));
        return responder.respond(request, new GenerationJob(tasks, List.of(promptIds.length), options, format));
    }

    static GenerationOptions.Limits limits(ServedModel model, int maxChoices) {
        return new GenerationOptions.Limits(model.defaults(), model.tokenizer().vocabSize(), maxChoices);
    }
}
