package io.millrace.gateway.route;

import io.millrace.engine.chat.ChatInput;
import io.millrace.engine.text.MarkedText;
import io.millrace.engine.tokenizer.Tokenizer;
import io.millrace.gateway.generation.ChoicePlanner;
import io.millrace.gateway.json.JsonFields;
import io.millrace.gateway.request.KnownFields;
import io.millrace.gateway.request.TokenizeRequest;
import io.millrace.gateway.served.ServedModel;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.springframework.web.servlet.function.ServerRequest;
import org.springframework.web.servlet.function.ServerResponse;
import tools.jackson.databind.json.JsonMapper;

/// `POST /tokenize` and `POST /detokenize`, as vLLM answers them.
record TokenizeHandler(ServedModel model, ChoicePlanner planner, PromptReader prompts, JsonBody body) {

    ServerResponse tokenize(ServerRequest request) {
        JsonFields fields = body.read(request);
        Exchange exchange = Exchange.of(request);
        exchange.ignoredFields(KnownFields.unknownOfTokenize(fields));
        return switch (TokenizeRequest.read(fields)) {
            case TokenizeRequest.Text text -> {
                model.requireNamed(text.model());
                int[] ids = prompts.countedIds(request, MarkedText.trusted(text.prompt()));
                yield answer(exchange, ids, text.withTokenTexts());
            }
            case TokenizeRequest.Chat chat -> {
                model.requireNamed(chat.model());
                ChatInput input = ServedModel.chatInput(
                        chat.messages(),
                        chat.tools(),
                        chat.rendering().generationPromptAdded(),
                        chat.rendering().templateArguments());
                int[] ids = prompts.countedIds(request, model.chatText(input));
                yield answer(exchange, ids, chat.withTokenTexts());
            }
        };
    }

    private ServerResponse answer(Exchange exchange, int[] ids, boolean withTokenTexts) {
        Map<String, @Nullable Object> fields = new LinkedHashMap<>();
        fields.put("count", ids.length);
        fields.put("max_model_len", planner.contextTokens());
        fields.put("tokens", ids);
        fields.put("token_strs", withTokenTexts ? texts(ids) : null);
        return Answers.write(Answers.ok(exchange), JsonMapper.shared().writeValueAsString(fields));
    }

    private List<String> texts(int[] ids) {
        Tokenizer tokenizer = model.tokenizer();
        return Arrays.stream(ids).mapToObj(tokenizer::token).toList();
    }

    ServerResponse detokenize(ServerRequest request) {
        JsonFields fields = body.read(request);
        Exchange exchange = Exchange.of(request);
        exchange.ignoredFields(KnownFields.unknownOfDetokenize(fields));
        TokenizeRequest.Ids ids =
                TokenizeRequest.readIds(fields, model.tokenizer().vocabSize());
        model.requireNamed(ids.model());
        int[] tokens = ids.ids().stream().mapToInt(Integer::intValue).toArray();
        String text = model.tokenizer().decode(tokens, false);
        return Answers.write(Answers.ok(exchange), JsonMapper.shared().writeValueAsString(Map.of("prompt", text)));
    }
}
