package io.millrace.gateway.route;

import io.millrace.gateway.GatewayProperties;
import io.millrace.gateway.generation.ChoicePlanner;
import io.millrace.gateway.generation.GenerationService;
import io.millrace.gateway.router.Router;
import io.millrace.gateway.served.ServedModel;
import io.millrace.gateway.served.TextEncoder;
import io.millrace.startup.arrival.Arrivals;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.context.LifecycleProperties;
import org.springframework.boot.web.servlet.FilterRegistrationBean;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.Ordered;
import org.springframework.web.servlet.function.HandlerFilterFunction;
import org.springframework.web.servlet.function.RouterFunction;
import org.springframework.web.servlet.function.ServerResponse;

/// The routes as Spring sees them. Every bean that is a handler filter runs before all of them.
@Configuration(proxyBeanMethods = false)
public class RouteConfiguration {
    @Bean
    RouterFunction<ServerResponse> gatewayRoutes(
            ServedModel model,
            ChoicePlanner planner,
            Router router,
            TextEncoder encoder,
            GenerationService service,
            GatewayProperties properties,
            ObjectProvider<HandlerFilterFunction<ServerResponse, ServerResponse>> filters) {
        GatewayProperties.Limits limits = properties.limits();
        GenerationResponder responder = new GenerationResponder(service, limits.keepAliveInterval());
        JsonBody body = new JsonBody(Math.toIntExact(limits.maxBodySize().toBytes()), limits.bodyTimeout());
        int maxChoices = limits.maxChoices();
        PromptReader prompts = new PromptReader(model, planner, encoder);
        return new GatewayRoutes(
                        new ChatHandler(model, planner, prompts, responder, body, maxChoices),
                        new CompletionHandler(model, planner, prompts, responder, body, maxChoices),
                        new ModelHandler(model, planner, router),
                        new TokenizeHandler(model, planner, prompts, body),
                        filters.orderedStream().toList())
                .routes();
    }

    @Bean
    OpenExchanges openExchanges() {
        return new OpenExchanges();
    }

    /// The grace period is Spring's.
    @Bean
    GracefulEnd gracefulEnd(OpenExchanges open, Arrivals arrivals, LifecycleProperties lifecycle) {
        return new GracefulEnd(open, arrivals, lifecycle.getTimeoutPerShutdownPhase());
    }

    @Bean
    FilterRegistrationBean<ExchangeFilter> exchangeFilter(OpenExchanges open) {
        FilterRegistrationBean<ExchangeFilter> registration = new FilterRegistrationBean<>(new ExchangeFilter(open));
        registration.setOrder(Ordered.HIGHEST_PRECEDENCE);
        return registration;
    }
}
