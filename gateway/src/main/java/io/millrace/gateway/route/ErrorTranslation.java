package io.millrace.gateway.route;

import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.gateway.error.ErrorAnswer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.web.servlet.function.HandlerFilterFunction;
import org.springframework.web.servlet.function.HandlerFunction;
import org.springframework.web.servlet.function.ServerRequest;
import org.springframework.web.servlet.function.ServerResponse;

/// The outermost filter of every route: exceptions become error answers.
final class ErrorTranslation implements HandlerFilterFunction<ServerResponse, ServerResponse> {
    private static final Logger log = LoggerFactory.getLogger(ErrorTranslation.class);

    @Override
    public ServerResponse filter(ServerRequest request, HandlerFunction<ServerResponse> next) throws Exception {
        try {
            return next.handle(request);
        } catch (MillraceException e) {
            if (e.code() == ErrorCode.INTERNAL) {
                log.error("request {} failed", Exchange.of(request).clientId(), e);
            }
            Exchange.of(request).outcome(", " + e.code().wireName());
            ErrorAnswer answer = ErrorAnswer.of(e);
            return Exchange.of(request).isBrokenOff() ? Answers.lastError(answer) : Answers.error(answer);
        } catch (RuntimeException e) {
            log.error("request {} failed", Exchange.of(request).clientId(), e);
            return Answers.error(ErrorAnswer.of(new MillraceException(ErrorCode.INTERNAL, "Internal error.", e)));
        }
    }
}
