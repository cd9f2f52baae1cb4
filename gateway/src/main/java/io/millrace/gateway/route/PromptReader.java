package io.millrace.gateway.route;

import io.millrace.engine.text.MarkedText;
import io.millrace.gateway.connection.ClientConnection;
import io.millrace.gateway.generation.ChoicePlanner;
import io.millrace.gateway.served.ServedModel;
import io.millrace.gateway.served.TextEncoder;
import org.springframework.web.servlet.function.ServerRequest;

/// Texts of requests to token ids. What is certain to be too long is refused before it is tokenized.
record PromptReader(ServedModel model, ChoicePlanner planner, TextEncoder encoder) {

    /// Ids of a prompt that is to be answered.
    ///
    /// @throws io.millrace.engine.error.MillraceException  `context_length_exceeded`, `kv_pool_exceeded`,
    ///                                                     `queue_full`, `cancelled`
    int[] promptIds(ServerRequest request, MarkedText text) {
        planner.requireRoom(model.tokenizer().leastTokens(text.text()));
        return encode(request, text);
    }

    /// Ids of a text that is only to be counted.
    ///
    /// @throws io.millrace.engine.error.MillraceException  `context_length_exceeded`, `queue_full`, `cancelled`
    int[] countedIds(ServerRequest request, MarkedText text) {
        planner.requireCountable(model.tokenizer().leastTokens(text.text()));
        return encode(request, text);
    }

    private int[] encode(ServerRequest request, MarkedText text) {
        ClientConnection client = ClientConnection.current();
        Exchange exchange = Exchange.of(request);
        return encoder.encode(text, () -> {
            exchange.requireOngoing();
            return !client.isOpen();
        });
    }
}
