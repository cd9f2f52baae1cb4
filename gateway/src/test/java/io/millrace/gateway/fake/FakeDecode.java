package io.millrace.gateway.fake;

import io.grpc.Status;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import io.millrace.engine.error.MillraceException;
import io.millrace.proto.v1.DecodeRequest;
import io.millrace.proto.v1.DecodeServiceGrpc;
import io.millrace.proto.v1.DescribeRequest;
import io.millrace.proto.v1.DescribeResponse;
import io.millrace.proto.v1.Finish;
import io.millrace.proto.v1.FinishReason;
import io.millrace.proto.v1.GenerateEvent;
import io.millrace.proto.v1.GenerateRequest;
import io.millrace.proto.v1.Timings;
import io.millrace.proto.v1.TokenLogprob;
import io.millrace.proto.v1.Tokens;
import io.millrace.proto.v1.TopLogprobs;
import io.millrace.rpc.GrpcErrors;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;

/// A decode service without a model: it streams a scripted answer from wherever the request stands.
public final class FakeDecode extends DecodeServiceGrpc.DecodeServiceImplBase {
    private final String name;
    public final List<DecodeRequest> requests = new CopyOnWriteArrayList<>();
    /// What the next calls do besides answering; a call without one answers in full.
    public final Queue<Mishap> mishaps = new ConcurrentLinkedQueue<>();
    public final AtomicInteger cancelled = new AtomicInteger();
    /// Events sent by all calls.
    public final AtomicInteger sent = new AtomicInteger();
    public volatile Function<GenerateRequest, Script> scripts = _ -> new Script(List.of(), 1, stop(0, 0));
    public volatile int weights = 1;
    /// Whether it leaves the question who it is without an answer.
    public volatile boolean silent;

    public FakeDecode(String name) {
        this.name = name;
    }

    /// An answer.
    ///
    /// @param ids        all of it
    /// @param groupSize  tokens of one event
    public record Script(List<Integer> ids, int groupSize, Finish finish) {}

    /// Something that goes wrong.
    public sealed interface Mishap {
        /// The call fails before its first event.
        record Refuse(MillraceException error) implements Mishap {}

        /// The call fails with a bare status after so many events.
        record Die(int events, Status status) implements Mishap {}

        /// The call falls silent after so many events.
        record Hang(int events) implements Mishap {}

        /// The call falls silent after so many events, until told to go on.
        record Rest(int events, CountDownLatch over) implements Mishap {}

        /// Positions after so many events are one too high.
        record Skip(int events) implements Mishap {}
    }

    public void reset() {
        requests.clear();
        mishaps.clear();
        cancelled.set(0);
        sent.set(0);
        weights = 1;
        silent = false;
    }

    /// The end by a stop token, or with `stopId` 0 by nothing in particular.
    public static Finish stop(int stopId, int cut) {
        Finish.Builder finish =
                Finish.newBuilder().setReason(FinishReason.FINISH_REASON_STOP).setCutCharacters(cut);
        return (stopId == 0 ? finish : finish.setStopId(stopId)).build();
    }

    @Override
    public void describe(DescribeRequest request, StreamObserver<DescribeResponse> observer) {
        if (silent) {
            return;
        }
        observer.onNext(Instance.describe(name, weights));
        observer.onCompleted();
    }

    @Override
    public void generate(DecodeRequest request, StreamObserver<GenerateEvent> observer) {
        requests.add(request);
        if (observer instanceof ServerCallStreamObserver<GenerateEvent> call) {
            call.setOnCancelHandler(cancelled::incrementAndGet);
        }
        Mishap mishap = mishaps.poll();
        if (mishap instanceof Mishap.Refuse(MillraceException error)) {
            observer.onError(GrpcErrors.toStatus(error));
            return;
        }
        Deque<GenerateEvent> events = events(request.getRequest());
        int count = 0;
        while (!events.isEmpty()) {
            if (mishap instanceof Mishap.Hang(int limit) && count >= limit) {
                return;
            }
            if (mishap instanceof Mishap.Die(int limit, Status status) && count >= limit) {
                observer.onError(status.asRuntimeException());
                return;
            }
            if (mishap instanceof Mishap.Rest(int limit, CountDownLatch over) && count == limit) {
                awaitQuietly(over);
            }
            GenerateEvent event = events.removeFirst();
            if (mishap instanceof Mishap.Skip(int limit) && count >= limit) {
                Tokens tokens = event.getTokens();
                event = event.toBuilder()
                        .setTokens(tokens.toBuilder().setFirstPosition(tokens.getFirstPosition() + 1))
                        .build();
            }
            observer.onNext(event);
            count++;
            sent.incrementAndGet();
        }
        observer.onCompleted();
    }

    private static void awaitQuietly(CountDownLatch over) {
        try {
            over.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private Deque<GenerateEvent> events(GenerateRequest request) {
        Script script = scripts.apply(request);
        Deque<GenerateEvent> events = new ArrayDeque<>();
        int position = request.getGeneratedIdsCount();
        do {
            int end = Math.min(script.ids.size(), position + script.groupSize);
            Tokens.Builder tokens =
                    Tokens.newBuilder().setFirstPosition(position).setWeightVersion(7);
            for (int id : script.ids.subList(position, end)) {
                tokens.addIds(id);
                addLogprobs(request, tokens, id);
            }
            GenerateEvent.Builder event = GenerateEvent.newBuilder().setTokens(tokens);
            if (end == script.ids.size()) {
                event.setFinish(script.finish.toBuilder()
                        .setTimings(Timings.newBuilder()
                                .setQueue(Instance.millis(3))
                                .setTransfer(Instance.millis(4))
                                .setDecode(Instance.millis(50))));
            }
            events.add(event.build());
            position = end;
        } while (position < script.ids.size());
        return events;
    }

    private static void addLogprobs(GenerateRequest request, Tokens.Builder tokens, int id) {
        if (request.getSampling().hasTopLogprobs()) {
            TopLogprobs.Builder top = TopLogprobs.newBuilder();
            for (int i = 0; i < request.getSampling().getTopLogprobs(); i++) {
                top.addEntries(TokenLogprob.newBuilder().setId(id + i).setLogprob(-0.5f - i));
            }
            tokens.addLogprobs(-0.5f).addTopLogprobs(top);
        }
    }
}
