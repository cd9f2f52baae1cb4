package io.millrace.gateway.route;

import io.millrace.gateway.error.ErrorAnswer;
import io.millrace.gateway.error.JsonErrorReportValve;
import io.millrace.gateway.error.RefusalLog;
import jakarta.servlet.Filter;
import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.ServletRequest;
import jakarta.servlet.ServletResponse;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.http.InvalidMediaTypeException;
import org.springframework.http.MediaType;

/// Gives each request its id, sees to it that nothing of it runs on when it is over, and logs one line.
final class ExchangeFilter implements Filter {
    static final String REQUEST_ID = "X-Request-Id";
    private static final Logger log = LoggerFactory.getLogger(ExchangeFilter.class);

    private final OpenExchanges open;
    private final RefusalLog refusals = new RefusalLog(System::nanoTime);

    ExchangeFilter(OpenExchanges open) {
        this.open = open;
    }

    @Override
    public void doFilter(ServletRequest request, ServletResponse response, FilterChain chain)
            throws IOException, ServletException {
        HttpServletRequest http = (HttpServletRequest) request;
        HttpServletResponse answer = (HttpServletResponse) response;
        Exchange exchange = Exchange.begin(http, http.getHeader(REQUEST_ID));
        answer.setHeader(REQUEST_ID, exchange.clientId());
        request.setAttribute(JsonErrorReportValve.LOGGED, true);
        open.enter(exchange);
        try {
            if (hasWildcard(http.getContentType())) {
                ErrorAnswer refusal = ErrorAnswer.of(JsonBody.unsupported(http.getContentType()));
                exchange.outcome(", " + refusal.code());
                request.setAttribute(JsonErrorReportValve.ANSWER, refusal);
                answer.sendError(HttpServletResponse.SC_UNSUPPORTED_MEDIA_TYPE);
            } else {
                chain.doFilter(request, response);
            }
        } finally {
            exchange.end();
            open.leave(exchange);
            int status =
                    JsonErrorReportValve.given(request).map(ErrorAnswer::status).orElseGet(answer::getStatus);
            if (isRefused(status) && !exchange.hasGeneration()) {
                refusals.refused(
                        exchange.clientId(), http.getMethod(), http.getRequestURI(), status, exchange.outcome());
            }
            if (exchange.hasGeneration() || status >= 500) {
                log.info(
                        "request {} ({}): {} after {} ms{}",
                        exchange.clientId(),
                        exchange.internalId(),
                        status,
                        exchange.elapsedMillis(),
                        exchange.outcome());
            }
        }
    }

    private static boolean isRefused(int status) {
        return status >= HttpServletResponse.SC_BAD_REQUEST && status < HttpServletResponse.SC_INTERNAL_SERVER_ERROR;
    }

    /// The framework takes a content type with a wildcard for its own fault, on every route.
    private static boolean hasWildcard(@Nullable String contentType) {
        try {
            MediaType type = contentType == null ? MediaType.APPLICATION_JSON : MediaType.valueOf(contentType);
            return type.isWildcardType() || type.isWildcardSubtype();
        } catch (InvalidMediaTypeException _) {
            return false;
        }
    }
}
