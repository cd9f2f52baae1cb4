package io.millrace.decode;

import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.engine.schedule.EngineLoop;
import io.millrace.engine.schedule.FinishInfo;
import io.millrace.engine.schedule.Reservation;
import io.millrace.engine.schedule.SequenceHandle;
import io.millrace.engine.schedule.SequenceRequest;
import io.millrace.proto.v1.DecodeRequest;
import io.millrace.proto.v1.Finish;
import io.millrace.proto.v1.GenerateEvent;
import io.millrace.proto.v1.GenerateRequest;
import io.millrace.proto.v1.Timings;
import io.millrace.proto.v1.Usage;
import io.millrace.rpc.LineLimit;
import io.millrace.rpc.generate.CallerWatch;
import io.millrace.rpc.generate.GenerateMessages;
import io.millrace.rpc.generate.HeldLeases;
import io.millrace.rpc.generate.ServedInstance;
import java.util.concurrent.Executor;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/// Runs one sequence: checks, reserves pages, brings in what is computed already, joins the batch, and
/// streams the tokens. Whatever ends it frees the pages and the lease; only a refusal before the lease
/// was joined leaves it, for the next instance that is asked.
final class SequenceRunner {
    private static final Logger log = LoggerFactory.getLogger(SequenceRunner.class);
    private static final long TOKEN_TIMEOUT_MILLIS = 600_000;
    private static final long PUT_BACK_WAIT_MILLIS = 500;

    private final ServedInstance served;
    private final EngineLoop loop;
    private final SequenceImports imports;
    private final StopConditions stops;
    private final DecodeMeters meters;
    private final Executor executor;
    private final LineLimit putBackLines = new LineLimit(PutBack.LINES_A_MINUTE, System::nanoTime);

    /// @param executor  runs what goes on beside a stream
    SequenceRunner(
            ServedInstance served,
            EngineLoop loop,
            SequenceImports imports,
            StopConditions stops,
            DecodeMeters meters,
            Executor executor) {
        this.served = served;
        this.loop = loop;
        this.imports = imports;
        this.stops = stops;
        this.meters = meters;
        this.executor = executor;
    }

    /// Runs in the call's gRPC context, and ends when it ends.
    void run(DecodeRequest message, EventStream out) {
        long startNanos = System.nanoTime();
        SequenceImports.Task task = imports.check(message);
        SequenceRequest sequence = sequence(message.getRequest());
        try (CallerWatch watch = CallerWatch.open();
                Reservation reservation = reserve(task, sequence)) {
            SequenceImports.Imported imported = imports.bring(task, reservation);
            try {
                new Streaming(task, imported, sequence, startNanos).run(reservation, watch, out);
            } finally {
                imported.lease().ifPresentOrElse(HeldLeases.Hold::end, () -> imports.endLease(task));
            }
        } catch (MillraceException e) {
            if (e.code() == ErrorCode.CANCELLED) {
                imports.endLease(task);
            }
            throw e;
        }
    }

    private Reservation reserve(SequenceImports.Task task, SequenceRequest sequence) {
        try {
            return loop.reserve(sequence);
        } catch (MillraceException e) {
            meters.refused(e.code().name());
            log.debug("request {} refused: {}", task.request().getRequestId(), e.getMessage());
            throw e;
        }
    }

    private SequenceRequest sequence(GenerateRequest request) {
        return new SequenceRequest(
                request.getRequestId(),
                request.getChoiceIndex(),
                GenerateMessages.ids(request.getPromptIdsList()),
                GenerateMessages.ids(request.getGeneratedIdsList()),
                GenerateMessages.sampling(request.getSampling()),
                request.getSeed(),
                GenerateMessages.ids(request.getStopIdsList()),
                request.getMaxTokens(),
                stops.of(request.getStopStringsList()),
                true,
                false);
    }

    /// One started sequence.
    private final class Streaming {
        private final SequenceImports.Task task;
        private final SequenceImports.Imported imported;
        private final SequenceRequest sequence;
        private final long startNanos;
        private final long transferNanos;
        private final PutBack putBack = new PutBack(putBackLines);
        private int streamed;
        private long lastNanos;

        private Streaming(
                SequenceImports.Task task,
                SequenceImports.Imported imported,
                SequenceRequest sequence,
                long startNanos) {
            this.task = task;
            this.imported = imported;
            this.sequence = sequence;
            this.startNanos = startNanos;
            this.transferNanos = System.nanoTime() - startNanos;
        }

        private void run(Reservation reservation, CallerWatch watch, EventStream out) {
            TokenStream tokens = new TokenStream(putBack);
            imports.putBackTarget(task, imported).ifPresent(target -> putBack.start(target, executor));
            SequenceHandle handle = reservation.start(imported.handover(), tokens);
            watch.stopBy(handle::cancel);
            try {
                FinishInfo end = null;
                while (end == null) {
                    TokenStream.Chunk chunk = tokens.take(TOKEN_TIMEOUT_MILLIS);
                    end = chunk.end();
                    send(chunk, out);
                }
                finished(end);
            } finally {
                handle.cancel();
                putBack.abandon();
            }
        }

        private void send(TokenStream.Chunk chunk, EventStream out) {
            GenerateEvent.Builder event = GenerateEvent.newBuilder();
            if (!chunk.tokens().isEmpty()) {
                event.setTokens(GenerateMessages.tokens(
                        chunk.firstPosition(), chunk.tokens(), sequence.sampling(), served.weightVersion()));
            }
            FinishInfo end = chunk.end();
            if (end != null) {
                // What the next turn can hit is in the cache before the caller can ask for it.
                putBack.finish(PUT_BACK_WAIT_MILLIS);
                event.setFinish(finish(end));
            }
            out.send(event.build());
            long now = System.nanoTime();
            if (streamed > 0 && !chunk.tokens().isEmpty()) {
                meters.betweenTokens(now - lastNanos);
            } else if (streamed == 0 && task.prefill() == null) {
                meters.firstToken(now - startNanos);
            }
            lastNanos = now;
            streamed += chunk.tokens().size();
        }

        private Finish finish(FinishInfo end) {
            Timings.Builder timings = Timings.newBuilder()
                    .setQueue(GenerateMessages.duration(end.queueNanos()))
                    .setTransfer(GenerateMessages.duration(Math.max(0, transferNanos - end.queueNanos())))
                    .setDecode(GenerateMessages.duration(end.decodeNanos()));
            timings.setPrefill(
                    task.prefill() == null
                            ? GenerateMessages.duration(end.prefillNanos())
                            : task.prefill().getTimings().getPrefill());
            return GenerateMessages.finish(end.cause())
                    .setUsage(Usage.newBuilder()
                            .setPromptTokens(task.request().getPromptIdsCount())
                            .setCompletionTokens(end.generatedTokens())
                            .setCachedTokens(imported.cached()))
                    .setTimings(timings)
                    .build();
        }

        private void finished(FinishInfo end) {
            long wholeNanos = System.nanoTime() - startNanos;
            meters.finished(end, streamed, wholeNanos);
            log.info(
                    "request {}/{} finished: {}, prompt {} tokens ({} imported, {} computed), {} generated,"
                            + " {} preemptions, {} ms",
                    task.request().getRequestId(),
                    task.request().getChoiceIndex(),
                    end.cause().getClass().getSimpleName(),
                    task.request().getPromptIdsCount(),
                    imported.handover().importedTokens(),
                    end.promptTokensComputed(),
                    end.generatedTokens(),
                    end.preemptions(),
                    wholeNanos / 1_000_000);
        }
    }
}
