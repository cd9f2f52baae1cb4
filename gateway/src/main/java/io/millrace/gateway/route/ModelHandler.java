package io.millrace.gateway.route;

import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.gateway.generation.ChoicePlanner;
import io.millrace.gateway.router.Router;
import io.millrace.gateway.served.ServedModel;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.springframework.web.servlet.function.ServerRequest;
import org.springframework.web.servlet.function.ServerResponse;
import tools.jackson.databind.json.JsonMapper;

/// `/v1/models`, `/v1/models/{id}` and `/health`, by `GET` or `HEAD`.
record ModelHandler(ServedModel model, ChoicePlanner planner, Router router) {

    ServerResponse list(ServerRequest request) {
        Map<String, @Nullable Object> list = new LinkedHashMap<>();
        list.put("object", "list");
        list.put("data", List.of(card()));
        return write(list);
    }

    ServerResponse one(ServerRequest request) {
        // The pattern takes the rest of the path, since model ids may hold slashes.
        String id = request.pathVariable("id").substring(1);
        if (id.isEmpty()) {
            throw MillraceException.ofParam(
                    ErrorCode.MODEL_NOT_FOUND,
                    "model",
                    "model id: empty (expected: /v1/models/" + model.name() + ", or /v1/models for the list)");
        }
        model.requireNamed(Optional.of(id));
        return write(card());
    }

    ServerResponse health(ServerRequest request) {
        if (!router.isReady()) {
            throw new MillraceException(
                    ErrorCode.DECODE_UNAVAILABLE, "No decode instance is available.", null, 1000, null);
        }
        return write(Map.of("status", "ok"));
    }

    private Map<String, @Nullable Object> card() {
        Map<String, @Nullable Object> card = new LinkedHashMap<>();
        card.put("id", model.name());
        card.put("object", "model");
        card.put("created", model.loadedSeconds());
        card.put("owned_by", "millrace");
        card.put("root", model.name());
        card.put("parent", null);
        card.put("max_model_len", planner.contextTokens());
        return card;
    }

    private static ServerResponse write(Map<String, ?> fields) {
        return Answers.json(JsonMapper.shared().writeValueAsString(fields));
    }
}
