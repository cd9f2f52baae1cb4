package io.millrace.gateway.route;

import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.engine.error.NearestName;
import io.millrace.gateway.error.ErrorAnswer;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.springframework.cloud.gateway.server.mvc.handler.GatewayRouterFunctions;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpMethod;
import org.springframework.http.server.PathContainer;
import org.springframework.web.servlet.function.HandlerFilterFunction;
import org.springframework.web.servlet.function.HandlerFunction;
import org.springframework.web.servlet.function.RequestPredicates;
import org.springframework.web.servlet.function.RouterFunction;
import org.springframework.web.servlet.function.ServerRequest;
import org.springframework.web.servlet.function.ServerResponse;
import org.springframework.web.util.pattern.PathPattern;
import org.springframework.web.util.pattern.PathPatternParser;

/// All endpoints as gateway routes. The last route takes what no other does, so filters see every
/// request there is, and
/// a wrong path or method is answered in the same shape as any other error.
public final class GatewayRoutes {
    private final List<Endpoint> endpoints;
    private final List<HandlerFilterFunction<ServerResponse, ServerResponse>> filters;

    /// @param methods  those it answers
    private record Endpoint(
            String id, List<HttpMethod> methods, PathPattern path, HandlerFunction<ServerResponse> handler) {
        static Endpoint post(String path, HandlerFunction<ServerResponse> handler) {
            return of(List.of(HttpMethod.POST), path, handler);
        }

        /// Answers HEAD, too: the container leaves the body out.
        static Endpoint get(String path, HandlerFunction<ServerResponse> handler) {
            return of(List.of(HttpMethod.GET, HttpMethod.HEAD), path, handler);
        }

        private static Endpoint of(List<HttpMethod> methods, String path, HandlerFunction<ServerResponse> handler) {
            String id = path.substring(1).replace("/{*id}", "-one").replace('/', '-');
            return new Endpoint(id, methods, PathPatternParser.defaultInstance.parse(path), handler);
        }
    }

    /// @param filters  run before every handler, in order, for every request
    GatewayRoutes(
            ChatHandler chat,
            CompletionHandler completion,
            ModelHandler models,
            TokenizeHandler tokens,
            List<HandlerFilterFunction<ServerResponse, ServerResponse>> filters) {
        this.endpoints = List.of(
                Endpoint.post("/v1/chat/completions", chat::chat),
                Endpoint.post("/v1/completions", completion::complete),
                Endpoint.post("/inference", chat::inference),
                Endpoint.get("/v1/models", models::list),
                Endpoint.get("/v1/models/{*id}", models::one),
                Endpoint.post("/tokenize", tokens::tokenize),
                Endpoint.post("/detokenize", tokens::detokenize),
                Endpoint.get("/health", models::health));
        this.filters = List.copyOf(filters);
    }

    /// The routes, in order.
    public RouterFunction<ServerResponse> routes() {
        List<RouterFunction<ServerResponse>> routes = new ArrayList<>();
        for (Endpoint endpoint : endpoints) {
            String pattern = endpoint.path().getPatternString();
            routes.add(filtered(GatewayRouterFunctions.route(endpoint.id())
                    .route(
                            RequestPredicates.methods(endpoint.methods().toArray(HttpMethod[]::new))
                                    .and(RequestPredicates.path(pattern)),
                            endpoint.handler())
                    .build()));
        }
        routes.add(filtered(GatewayRouterFunctions.route("unknown")
                .route(RequestPredicates.all(), this::refuse)
                .build()));
        return routes.stream().reduce(RouterFunction::and).orElseThrow();
    }

    private RouterFunction<ServerResponse> filtered(RouterFunction<ServerResponse> route) {
        RouterFunction<ServerResponse> filtered = route;
        for (HandlerFilterFunction<ServerResponse, ServerResponse> filter : filters.reversed()) {
            filtered = filtered.filter(filter);
        }
        return filtered.filter(GatewayRoutes::requireOngoing).filter(new ErrorTranslation());
    }

    /// What came when the gateway was about to end is refused, whatever it asks for.
    private static ServerResponse requireOngoing(ServerRequest request, HandlerFunction<ServerResponse> next)
            throws Exception {
        Exchange.of(request).requireOngoing();
        return next.handle(request);
    }

    private ServerResponse refuse(ServerRequest request) {
        PathContainer path = request.requestPath().pathWithinApplication();
        String asked = request.method().name();
        String shown = ErrorAnswer.shown(request.requestPath().value());
        Set<String> allowed = new TreeSet<>();
        for (Endpoint endpoint : endpoints) {
            if (endpoint.path().matches(path)) {
                endpoint.methods().forEach(method -> allowed.add(method.name()));
            }
        }
        if (allowed.isEmpty()) {
            throw new MillraceException(
                    ErrorCode.ROUTE_NOT_FOUND, asked + " " + shown + ": no such route (expected: " + known(path) + ")");
        }
        String methods = String.join(", ", allowed);
        if (request.method().equals(HttpMethod.OPTIONS)) {
            return ServerResponse.noContent().header(HttpHeaders.ALLOW, methods).build();
        }
        MillraceException error = new MillraceException(
                ErrorCode.METHOD_NOT_ALLOWED,
                "HTTP method: " + asked + " on " + shown + " (expected: " + methods + ")");
        Exchange.of(request).outcome(", " + error.code().wireName());
        return Answers.write(
                ServerResponse.status(error.code().httpStatus()).header(HttpHeaders.ALLOW, methods),
                ErrorAnswer.of(error).json());
    }

    /// All routes, and the one that a path most likely means.
    private String known(PathContainer path) {
        List<String> routes = new ArrayList<>();
        List<String> paths = new ArrayList<>();
        for (Endpoint endpoint : endpoints) {
            String pattern = endpoint.path().getPatternString().replace("{*id}", "{id}");
            routes.add(endpoint.methods().getFirst() + " " + pattern);
            paths.add(pattern);
        }
        String near = NearestName.of(path.value(), paths)
                .map(meant -> "; nearest is " + meant)
                .orElse("");
        return "one of " + String.join(", ", routes) + near;
    }
}
