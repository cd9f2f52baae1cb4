package io.millrace.gateway.route;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.gateway.fake.Suite;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.web.servlet.HandlerMapping;
import org.springframework.web.servlet.function.HandlerFilterFunction;
import org.springframework.web.servlet.function.ServerResponse;
import org.springframework.web.servlet.function.support.RouterFunctionMapping;
import org.springframework.web.servlet.handler.AbstractHandlerMethodMapping;
import org.springframework.web.servlet.handler.AbstractUrlHandlerMapping;

/// A filter that refuses everything leaves no way in.
class FilterTest {
    private static final List<String> PATHS = List.of(
            "/v1/chat/completions",
            "/v1/completions",
            "/inference",
            "/v1/models",
            "/v1/models/millrace-mini",
            "/tokenize",
            "/detokenize",
            "/health",
            "/error",
            "/",
            "/actuator",
            "/actuator/prometheus",
            "/anything");

    @Configuration(proxyBeanMethods = false)
    static class Refusing {
        @Bean
        AtomicBoolean refusing() {
            return new AtomicBoolean();
        }

        @Bean
        HandlerFilterFunction<ServerResponse, ServerResponse> refusingFilter(AtomicBoolean refusing) {
            return (request, next) -> {
                if (refusing.get()) {
                    throw new MillraceException(ErrorCode.AUTHENTICATION_REQUIRED, "No key, no answer.");
                }
                return next.handle(request);
            };
        }
    }

    @Test
    void aRefusingFilterLeavesNoPathAroundIt() {
        try (Suite suite = new Suite(Refusing.class)) {
            suite.reset();
            suite.context.getBean(AtomicBoolean.class).set(true);

            for (String path : PATHS) {
                for (String method : List.of("GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD")) {
                    HttpResponse<String> response = suite.send(HttpRequest.newBuilder(suite.uri(path))
                            .header("Content-Type", "application/json")
                            .method(method, BodyPublishers.ofString(Suite.chat()))
                            .build());
                    assertThat(response.statusCode()).as(method + " " + path).isEqualTo(401);
                }
            }
            assertThat(suite.prefill.requests).isEmpty();
            assertThat(suite.decodeRequests()).isEmpty();
            onlyRoutesAnswer(suite);
        }
    }

    private static void onlyRoutesAnswer(Suite suite) {
        for (HandlerMapping mapping :
                suite.context.getBeansOfType(HandlerMapping.class).values()) {
            switch (mapping) {
                case RouterFunctionMapping _ -> {}
                case AbstractHandlerMethodMapping<?> methods ->
                    assertThat(methods.getHandlerMethods()).isEmpty();
                case AbstractUrlHandlerMapping urls ->
                    assertThat(urls.getHandlerMap()).isEmpty();
                default -> throw new AssertionError("unknown handler mapping: " + mapping);
            }
        }
    }
}
