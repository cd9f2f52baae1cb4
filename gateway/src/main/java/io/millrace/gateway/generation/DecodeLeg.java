package io.millrace.gateway.generation;

import com.google.protobuf.ByteString;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.gateway.generation.PrefillLeg.Prefilled;
import io.millrace.gateway.router.Router;
import io.millrace.gateway.router.ServingInstance;
import io.millrace.proto.v1.DecodeRequest;
import io.millrace.proto.v1.DecodeServiceGrpc;
import io.millrace.proto.v1.GenerateEvent;
import io.millrace.rpc.Leg;
import java.util.HashSet;
import java.util.Iterator;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/// Streams a choice from a decode instance. When the instance fails, the stream goes on at another, or
/// at the same one
/// once it is back, from the prompt and the tokens generated so far; the receiver sees neither gap nor
/// repeat.
record DecodeLeg(Router router, GenerationSettings settings, GenerationMetrics metrics, FailedCalls failedCalls) {
    private static final long MIN_PAUSE_MILLIS = 50;
    private static final long MAX_PAUSE_MILLIS = 1000;

    /// Takes the events of a choice, each once and in order.
    interface Receiver {
        void accept(GenerateEvent event, ServingInstance from);
    }

    void stream(ChoiceState state, @Nullable Prefilled prefilled, Receiver receiver) {
        Prefilled handedOver = prefilled;
        Set<ServingInstance> failed = new HashSet<>();
        Outage outage = new Outage();
        MillraceException lastBreak = null;
        for (int tries = 1; ; tries++) {
            ServingInstance.Call begun = begin(state, handedOver, failed, lastBreak);
            ServingInstance instance = begun.instance();
            int shown = state.cursor().count();
            try (begun) {
                stream(state, handedOver, begun, lastBreak == null ? receiver : new Resumed(receiver));
                return;
            } catch (StatusRuntimeException e) {
                ChoiceState.requireWanted();
                failed.add(instance);
                switch (CallFailure.of(e, Leg.DECODE)) {
                    case CallFailure.Final last -> throw last.error();
                    case CallFailure.Busy busy -> afterBusy(state, tries, handedOver, busy.error());
                    case CallFailure.Broken broken -> {
                        failedCalls.tell(Leg.DECODE, instance, e);
                        handedOver = null;
                        lastBreak = broken.error();
                        boolean idle = isGone(broken.error()) && state.cursor().count() == shown;
                        boolean waits = idle && outage.lasts(shown);
                        tries -= waits ? 1 : 0;
                        afterBreak(state, tries, instance, broken.error());
                        if (waits) {
                            ChoiceState.pause(MIN_PAUSE_MILLIS);
                        }
                    }
                }
            }
        }
    }

    /// Before the first token the client learns at once that all instances are full. Later the stream
    /// waits its turn.
    private void afterBusy(ChoiceState state, int tries, @Nullable Prefilled handedOver, MillraceException error) {
        if (state.cursor().count() > 0 && tries < settings.decodeAttempts()) {
            ChoiceState.pause(Math.clamp(error.retryAfterMillis(), MIN_PAUSE_MILLIS, MAX_PAUSE_MILLIS));
        } else if (tries >= Math.min(settings.decodeAttempts(), router.decodeCount(namespace(handedOver)))) {
            throw error;
        }
    }

    /// Counts a stream as resumed once it goes on.
    private final class Resumed implements Receiver {
        private final Receiver receiver;
        private boolean goesOn;

        Resumed(Receiver receiver) {
            this.receiver = receiver;
        }

        @Override
        public void accept(GenerateEvent event, ServingInstance from) {
            if (!goesOn) {
                goesOn = true;
                metrics.decodeResumed();
            }
            receiver.accept(event, from);
        }
    }

    /// A stream that already showed tokens waits for an instance to come back: calls that find one gone,
    /// and show nothing more, use up no tries meanwhile.
    private final class Outage {
        private long since;
        private int tokens;

        boolean lasts(int shown) {
            if (shown > tokens) {
                tokens = shown;
                since = System.nanoTime();
            }
            return shown > 0
                    && System.nanoTime() - since < settings.resumeWait().toNanos();
        }
    }

    private static boolean isGone(MillraceException error) {
        return switch (error.code()) {
            case DECODE_UNAVAILABLE, SHUTTING_DOWN, ENGINE_FAILED -> true;
            default -> false;
        };
    }

    private void afterBreak(ChoiceState state, int tries, ServingInstance instance, MillraceException error) {
        if (isGone(error)) {
            instance.lost();
        }
        if (tries >= settings.decodeAttempts()) {
            throw error;
        }
        state.releaseLeases();
        state.nextAttempt();
    }

    /// A stream that already showed tokens waits a while for an instance to come back; any other fails
    /// at once. Where an engine died and no other instance is left, its reason says more.
    private ServingInstance.Call begin(
            ChoiceState state,
            @Nullable Prefilled handedOver,
            Set<ServingInstance> failed,
            @Nullable MillraceException lastBreak) {
        long waitedSince = System.nanoTime();
        while (true) {
            try {
                return router.beginDecode(namespace(handedOver), failed);
            } catch (MillraceException e) {
                boolean patient = state.cursor().count() > 0
                        && System.nanoTime() - waitedSince
                                < settings.resumeWait().toNanos();
                if (!patient) {
                    throw lastBreak != null && lastBreak.code() == ErrorCode.ENGINE_FAILED ? lastBreak : e;
                }
                ChoiceState.pause(MIN_PAUSE_MILLIS);
            }
        }
    }

    private static @Nullable ByteString namespace(@Nullable Prefilled prefilled) {
        return prefilled == null ? null : prefilled.reply().getNamespace();
    }

    private void stream(
            ChoiceState state, @Nullable Prefilled prefilled, ServingInstance.Call call, Receiver receiver) {
        ServingInstance instance = call.instance();
        DecodeRequest.Builder request = DecodeRequest.newBuilder().setRequest(state.request());
        Optional.ofNullable(prefilled).ifPresent(known -> request.setPrefill(known.reply()));
        long millisLeft = state.millisLeft();
        Iterator<GenerateEvent> events = call.within(() -> DecodeServiceGrpc.newBlockingStub(instance.channel())
                .withDeadlineAfter(millisLeft, TimeUnit.MILLISECONDS)
                .generate(request.build()));
        while (events.hasNext()) {
            GenerateEvent event = events.next();
            instance.heard();
            receiver.accept(event, instance);
            if (event.hasFinish()) {
                return;
            }
        }
        throw Status.DATA_LOSS
                .withDescription("the stream ended without a finish")
                .asRuntimeException();
    }
}
