package io.millrace.gateway.route;

import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.gateway.connection.ClientConnection;
import io.millrace.gateway.error.ErrorAnswer;
import io.millrace.gateway.generation.Generation;
import io.millrace.gateway.generation.GenerationService;
import io.millrace.gateway.generation.ReplyEvent;
import io.millrace.gateway.reply.ReplyFormat;
import jakarta.servlet.ServletOutputStream;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.http.HttpHeaders;
import org.springframework.web.servlet.function.ServerRequest;
import org.springframework.web.servlet.function.ServerResponse;

/// Runs a request and answers it, as a stream or as one body. Headers wait for the first event, so an
/// error before the
/// first token has its real status in both. A client that hangs up ends the request, also while nothing
/// is written.
final class GenerationResponder {
    private static final Logger log = LoggerFactory.getLogger(GenerationResponder.class);

    private final GenerationService service;
    private final Duration keepAliveInterval;

    GenerationResponder(GenerationService service, Duration keepAliveInterval) {
        this.service = service;
        this.keepAliveInterval = keepAliveInterval;
    }

    ServerResponse respond(ServerRequest request, GenerationJob job) {
        ClientConnection client = ClientConnection.current();
        Exchange exchange = Exchange.of(request);
        Generation generation = service.start(job.tasks(), () -> {
            exchange.requireOngoing();
            return !client.isOpen();
        });
        exchange.running(generation);
        ReplyProgress progress = new ReplyProgress(exchange, generation, client, job);
        ReplyEvent first = progress.next();
        if (first instanceof ReplyEvent.Failed failed) {
            throw failed.error();
        }
        if (!job.options().stream().enabled()) {
            return whole(progress, first, exchange);
        }
        return Answers.ok(exchange)
                .header(HttpHeaders.CONTENT_TYPE, "text/event-stream; charset=utf-8")
                .header(HttpHeaders.CACHE_CONTROL, "no-cache")
                .header("X-Accel-Buffering", "no")
                .build((_, response) -> {
                    stream(progress, first, exchange, response.getOutputStream());
                    return null;
                });
    }

    private static ServerResponse whole(ReplyProgress progress, ReplyEvent first, Exchange exchange) {
        ReplyFormat format = progress.job().format();
        format.fold(first);
        while (!progress.isComplete()) {
            ReplyEvent event = progress.next();
            if (event instanceof ReplyEvent.Failed failed) {
                throw failed.error();
            }
            format.fold(event);
        }
        exchange.outcome(progress.outcome());
        return Answers.write(Answers.ok(exchange), format.body(progress.summary()));
    }

    private void stream(ReplyProgress progress, ReplyEvent first, Exchange exchange, ServletOutputStream output) {
        EventStream stream = new EventStream(output);
        try {
            write(progress, first, stream);
            exchange.outcome(progress.outcome());
        } catch (MillraceException e) {
            exchange.outcome(", " + e.code().wireName() + " in the stream");
            if (e.code() == ErrorCode.CANCELLED) {
                // A stream without its last word does not end as one that has it.
                exchange.cut();
            } else {
                failInStream(stream, e);
            }
        } catch (IOException e) {
            exchange.outcome(", client hung up");
            log.debug("client of {} hung up", exchange.clientId(), e);
        } finally {
            exchange.end();
        }
    }

    private void write(ReplyProgress progress, ReplyEvent first, EventStream stream) throws IOException {
        ReplyFormat format = progress.job().format();
        stream.data(format.chunks(first));
        while (!progress.isComplete()) {
            if (!progress.hasNext()) {
                stream.flush();
            }
            ReplyEvent event = progress.next(keepAliveInterval, stream::comment);
            if (event instanceof ReplyEvent.Failed failed) {
                throw failed.error();
            }
            stream.data(format.chunks(event));
        }
        stream.data(format.lastChunks(progress.summary()));
        stream.done();
    }

    private static void failInStream(EventStream stream, MillraceException error) {
        try {
            stream.data(List.of(ErrorAnswer.of(error).json()));
            stream.done();
        } catch (IOException e) {
            log.debug("client hung up before it learned of an error", e);
        }
    }
}
