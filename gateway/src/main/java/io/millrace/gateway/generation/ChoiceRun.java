package io.millrace.gateway.generation;

import io.grpc.Context;
import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.gateway.generation.ChoiceReceipt.Millis;
import io.millrace.gateway.generation.ChoiceReceipt.Services;
import io.millrace.gateway.generation.PrefillLeg.Prefilled;
import io.millrace.gateway.router.ServingInstance;
import io.millrace.proto.v1.CachedTokens;
import io.millrace.proto.v1.Finish;
import io.millrace.proto.v1.GenerateEvent;
import io.millrace.proto.v1.Timings;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/// Generates one choice on its own virtual thread and reports it as reply events, the last of which is
/// always a finish
/// or a failure, unless the request was cancelled.
final class ChoiceRun implements Runnable {
    private static final Logger log = LoggerFactory.getLogger(ChoiceRun.class);

    private final ChoiceTask task;
    private final PrefillLeg prefillLeg;
    private final DecodeLeg decodeLeg;
    private final ReplyAssembler assembler;
    private final ChoiceState state;
    private final Consumer<ReplyEvent> sink;
    private long firstTokenNanos = -1;
    private @Nullable Prefilled prefilled;

    ChoiceRun(
            ChoiceTask task,
            PrefillLeg prefillLeg,
            DecodeLeg decodeLeg,
            ReplyAssembler assembler,
            ChoiceState state,
            Consumer<ReplyEvent> sink) {
        this.task = task;
        this.prefillLeg = prefillLeg;
        this.decodeLeg = decodeLeg;
        this.assembler = assembler;
        this.state = state;
        this.sink = sink;
    }

    @Override
    public void run() {
        boolean finished = false;
        try {
            prefilled = prefillLeg.call(state).orElse(null);
            decodeLeg.stream(state, prefilled, this::accept);
            finished = true;
        } catch (MillraceException e) {
            fail(e);
        } catch (RuntimeException e) {
            log.error("choice {} of {} failed", task.index(), task.request().getRequestId(), e);
            fail(new MillraceException(ErrorCode.INTERNAL, "Internal error.", e));
        } finally {
            state.releaseLeases();
            if (!finished) {
                metrics()
                        .abandoned(
                                task.request().getPromptIdsCount(),
                                state.cursor().count());
            }
        }
    }

    private GenerationMetrics metrics() {
        return decodeLeg.metrics();
    }

    private void fail(MillraceException error) {
        if (!Context.current().isCancelled()) {
            sink.accept(new ReplyEvent.Failed(task.index(), error));
        }
    }

    private void accept(GenerateEvent event, ServingInstance from) {
        int known = state.cursor().accept(event.getTokens());
        if (firstTokenNanos < 0 && state.cursor().count() > 0) {
            firstTokenNanos = state.elapsedNanos();
            metrics().firstToken(firstTokenNanos);
        }
        Finish finish = event.hasFinish() ? event.getFinish() : null;
        assembler.accept(event.getTokens(), known, finish).ifPresent(sink);
        if (finish != null) {
            state.leasesEnded();
            ReplyEvent.Ending ending = assembler.ending(finish);
            metrics()
                    .finished(
                            ending.reason(),
                            task.request().getPromptIdsCount(),
                            state.cursor().count(),
                            state.elapsedNanos());
            sink.accept(new ReplyEvent.Finished(
                    task.index(),
                    ending,
                    receipt(finish, from, event.getTokens().getWeightVersion())));
        }
    }

    private ChoiceReceipt receipt(Finish finish, ServingInstance decode, long weightVersion) {
        Optional<Prefilled> prefill = Optional.ofNullable(prefilled);
        CachedTokens cached = prefill.map(known -> known.reply().getCachedTokens())
                .orElse(finish.getUsage().getCachedTokens());
        Timings end = finish.getTimings();
        Timings start = prefill.map(known -> known.reply().getTimings()).orElse(end);
        double queue = millis(end.getQueue()) + (prefill.isPresent() ? millis(start.getQueue()) : 0);
        return new ChoiceReceipt(
                state.cursor().count(),
                cached.getMemory() + cached.getDisk(),
                new Millis(
                        queue,
                        millis(start.getPrefill()),
                        millis(end.getTransfer()),
                        millis(end.getDecode()),
                        Math.max(0, firstTokenNanos) / 1e6,
                        state.elapsedNanos() / 1e6),
                new Services(
                        prefill.map(known -> known.instance().name()).orElse(null),
                        prefill.map(known -> known.reply().getBlocksStored()).orElse(false),
                        decode.name(),
                        weightVersion),
                state.attempt() + 1);
    }

    private static double millis(com.google.protobuf.Duration duration) {
        return TimeUnit.SECONDS.toMillis(duration.getSeconds()) + duration.getNanos() / 1e6;
    }
}
