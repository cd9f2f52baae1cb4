package io.millrace.standalone.command;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpServer;
import io.millrace.standalone.client.MillraceClient;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class WarmUpTest {
    @Test
    void aRefusedQuestionEndsNothing() throws IOException {
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/", exchange -> {
            boolean isList = exchange.getRequestURI().getPath().equals("/v1/models");
            String answer = isList
                    ? "{\"data\": [{\"id\": \"small\", \"max_model_len\": 64}]}"
                    : "{\"error\": {\"code\": \"kv_pool_exceeded\", \"message\": \"prompt: 90 tokens\"}}";
            byte[] bytes = answer.getBytes(StandardCharsets.UTF_8);
            exchange.sendResponseHeaders(isList ? 200 : 400, bytes.length);
            exchange.getResponseBody().write(bytes);
            exchange.close();
        });
        server.start();
        try (MillraceClient client = new MillraceClient(
                URI.create("http://127.0.0.1:" + server.getAddress().getPort()))) {
            assertThat(new WarmUp(client, Duration.ofMinutes(1), new SplittableRandom(1)).run())
                    .isEmpty();
        } finally {
            server.stop(0);
        }
    }
}
