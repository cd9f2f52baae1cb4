package io.millrace.decode;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.google.protobuf.ByteString;
import io.grpc.Context;
import io.grpc.StatusRuntimeException;
import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.engine.tokenizer.Tokenizer;
import io.millrace.prefill.FakeKvCache;
import io.millrace.proto.v1.DecodeRequest;
import io.millrace.proto.v1.DecodeServiceGrpc.DecodeServiceBlockingStub;
import io.millrace.proto.v1.DescribeRequest;
import io.millrace.proto.v1.FinishReason;
import io.millrace.proto.v1.GenerateEvent;
import io.millrace.proto.v1.GenerateRequest;
import io.millrace.proto.v1.PrefillReply;
import io.millrace.proto.v1.Sampling;
import io.millrace.rpc.GrpcErrors;
import io.millrace.rpc.Leg;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.springframework.boot.SpringApplication;
import org.springframework.context.ConfigurableApplicationContext;

/// The whole service with the embedded model, fed by the real prefill-service, over real sockets.
class DecodeServiceTest {
    private static final List<Integer> PROMPT =
            new Random(3).ints(100, 0, 4000).boxed().toList();
    private static final Duration SOON = Duration.ofSeconds(2);

    @SuppressWarnings("NullAway.Init")
    private static Suite suite;

    @SuppressWarnings("NullAway.Init")
    private static FakeKvCache cache;

    @SuppressWarnings("NullAway.Init")
    private static DecodeServiceBlockingStub decode;

    @BeforeAll
    static void start() throws Exception {
        cache = new FakeKvCache();
        suite = new Suite(cache.target());
        decode = suite.decode();
        // The compiler stalls the first steps of a JVM for seconds; the limits below are those of a warm one.
        assertThat(Reply.read(decode.generate(split(request("warm", 40)))).ids())
                .hasSize(40);
        assertThat(suite.get("/actuator/health/readiness")).contains("\"UP\"");
    }

    @AfterAll
    static void stop() {
        suite.close();
        cache.close();
    }

    @BeforeEach
    void emptyCache() {
        cache.clear();
        cache.refusePuts(false);
        cache.loseBlocks(false);
    }

    @AfterEach
    void nothingIsLeft() {
        await().atMost(SOON)
                .until(() -> suite.loop().stats().freePages() == Suite.PAGES
                        && cache.leases().isEmpty()
                        && suite.get("/actuator/millrace/leases").equals("[]"));
    }

    private static GenerateRequest.Builder request(String id, int maxTokens) {
        return GenerateRequest.newBuilder()
                .setRequestId(id)
                .setLeaseId(id + "/0/0")
                .addAllPromptIds(PROMPT)
                .setSampling(Sampling.newBuilder().setTopLogprobs(0))
                .setSeed(5)
                .setMaxTokens(maxTokens);
    }

    private static Reply local(GenerateRequest.Builder request) {
        return Reply.read(
                decode.generate(DecodeRequest.newBuilder().setRequest(request).build()));
    }

    private static DecodeRequest split(GenerateRequest.Builder request) {
        PrefillReply prefill = suite.prefill().prefill(request.build());
        return DecodeRequest.newBuilder()
                .setRequest(request)
                .setPrefill(prefill)
                .build();
    }

    private static long computed() {
        return suite.loop().stats().promptTokensComputed();
    }

    @Test
    void prefillAndDecodeEqualDecodeAlone() {
        Reply alone = local(request("a1", 60));
        cache.clear();
        long before = computed();
        Reply apart = Reply.read(decode.generate(split(request("a2", 60))));
        assertThat(computed()).isEqualTo(before);
        assertThat(apart.ids()).hasSize(60).isEqualTo(alone.ids());
        assertThat(apart.logprobs()).isEqualTo(alone.logprobs());
        assertThat(apart.finish().getReason()).isEqualTo(FinishReason.FINISH_REASON_LENGTH);
        assertThat(apart.finish().getUsage().getPromptTokens()).isEqualTo(100);
        assertThat(apart.finish().getUsage().getCompletionTokens()).isEqualTo(60);
    }

    @Test
    void theNextTurnHitsWhatDecodePutBack() {
        Reply first = Reply.read(decode.generate(split(request("b1", 60))));
        assertThat(cache.blocks()).isEqualTo(2);
        GenerateRequest.Builder next = request("b2", 5).addAllPromptIds(first.ids());
        DecodeRequest turn = split(next);
        assertThat(turn.getPrefill().getCachedTokens().getMemory()).isEqualTo(128);
        Reply hit = Reply.read(decode.generate(turn));
        assertThat(hit.finish().getUsage().getCachedTokens().getMemory()).isEqualTo(128);
        cache.clear();
        assertThat(local(request("b3", 5).addAllPromptIds(first.ids())).ids()).isEqualTo(hit.ids());
    }

    @Test
    void aSmallPromptComputedHereUsesTheCachedPrefix() {
        Reply miss = local(request("c1", 8));
        long before = computed();
        Reply hit = local(request("c2", 8));
        assertThat(computed() - before).isEqualTo(36);
        assertThat(hit.ids()).isEqualTo(miss.ids());
        assertThat(hit.finish().getUsage().getCachedTokens().getMemory()).isEqualTo(64);
    }

    @Test
    void anotherNamespaceIsRefusedBeforeAByteIsRead() {
        DecodeRequest good = split(request("d1", 8));
        DecodeRequest.Builder bad = good.toBuilder();
        bad.getPrefillBuilder().setNamespace(ByteString.copyFrom(new byte[32]));
        assertThat(refusal(decode, bad.build()).code()).isEqualTo(ErrorCode.KV_NAMESPACE_MISMATCH);
        assertThat(cache.leases()).contains("d1/0/0");
        assertThat(Reply.read(decode.generate(good)).ids()).hasSize(8);
    }

    private static MillraceException refusal(DecodeServiceBlockingStub stub, DecodeRequest request) {
        try {
            Iterator<GenerateEvent> events = stub.generate(request);
            events.forEachRemaining(event -> {});
            throw new AssertionError("not refused");
        } catch (StatusRuntimeException e) {
            return GrpcErrors.fromThrowable(e, Leg.DECODE);
        }
    }

    @Test
    void aFlippedLatentIsComputedAgainAndWithoutChecksumsIsSeen() {
        Reply clean = local(request("e1", 20));
        cache.clear();
        DecodeRequest checked = split(request("e2", 20));
        cache.flip(1, 1, 2);
        long before = computed();
        assertThat(Reply.read(decode.generate(checked)).logprobs()).isEqualTo(clean.logprobs());
        assertThat(computed() - before).isEqualTo(100);

        cache.clear();
        DecodeRequest unchecked = split(request("e3", 20));
        cache.flip(1, 1, 2);
        Reply wrong = Reply.read(suite.trusting().generate(unchecked));
        assertThat(wrong.logprobs()).isNotEqualTo(clean.logprobs());
    }

    @Test
    void blocksOfNaNAreComputedAgainThoughTheirChecksumIsRight() {
        Reply clean = local(request("n1", 20));
        cache.clear();
        DecodeRequest handedOver = split(request("n2", 20));
        cache.breakValues(1);
        long before = computed();
        assertThat(Reply.read(decode.generate(handedOver)).logprobs()).isEqualTo(clean.logprobs());
        assertThat(computed() - before).isEqualTo(100);
        cache.breakValues(1);
        DecodeRequest matched = split(request("n3", 20));
        assertThat(matched.getPrefill().getCachedTokens().getMemory()).isZero();
        assertThat(Reply.read(decode.generate(matched)).logprobs()).isEqualTo(clean.logprobs());
    }

    @Test
    void aCacheThatLosesBlocksCostsOnlyRecompute() {
        Reply clean = local(request("f1", 20));
        DecodeRequest request = split(request("f2", 20));
        cache.loseBlocks(true);
        assertThat(Reply.read(decode.generate(request)).ids()).isEqualTo(clean.ids());
        cache.loseBlocks(false);
        cache.refusePuts(true);
        DecodeRequest unstored = split(request("f3", 20));
        assertThat(unstored.getPrefill().getBlocksStored()).isFalse();
        assertThat(Reply.read(decode.generate(unstored)).ids()).isEqualTo(clean.ids());
    }

    @Test
    void streamsFromTheEndOfGeneratedTokens() {
        Reply whole = local(request("g1", 30));
        GenerateRequest.Builder retry =
                request("g2", 30).addAllGeneratedIds(whole.ids().subList(0, 11)).setAttempt(1);
        Reply rest = Reply.read(decode.generate(split(retry)));
        assertThat(rest.firstPosition()).isEqualTo(11);
        assertThat(rest.ids()).isEqualTo(whole.ids().subList(11, 30));
        assertThat(rest.finish().getUsage().getCompletionTokens()).isEqualTo(30);
    }

    @Test
    void aFirstTokenThatEndsItAllNeedsNoBlocks() {
        long before = computed();
        Reply one = Reply.read(decode.generate(split(request("h1", 1))));
        assertThat(one.ids()).hasSize(1);
        assertThat(one.finish().getReason()).isEqualTo(FinishReason.FINISH_REASON_LENGTH);
        Reply stopped = Reply.read(
                decode.generate(split(request("h2", 30).addStopIds(one.ids().getFirst()))));
        assertThat(stopped.ids()).isEqualTo(one.ids());
        assertThat(stopped.finish().getStopId()).isEqualTo(one.ids().getFirst());
        assertThat(computed()).isEqualTo(before);
    }

    @Test
    void stopStringsCutTheText() {
        Reply free = local(request("i1", 30));
        Path mini = Path.of(System.getProperty("millrace.root"), "models", "mini");
        String text;
        try (Tokenizer tokenizer = Tokenizer.load(mini)) {
            text = tokenizer.decode(
                    free.ids().stream().mapToInt(Integer::intValue).toArray(), true);
        }
        int[] points = text.codePoints().toArray();
        assertThat(points.length).isGreaterThan(12);
        String stop = new String(points, 9, 3);
        Reply stopped = Reply.read(decode.generate(split(request("i2", 30).addStopStrings(stop))));
        assertThat(stopped.finish().getReason()).isEqualTo(FinishReason.FINISH_REASON_STOP);
        assertThat(stopped.finish().getStopString()).isEqualTo(stop);
        assertThat(stopped.finish().getCutCharacters()).isGreaterThanOrEqualTo(3);
        assertThat(stopped.ids()).isEqualTo(free.ids().subList(0, stopped.ids().size()));
    }

    @Test
    void sequencesInOneBatchAreThoseAlone() throws Exception {
        List<Reply> alone = new ArrayList<>();
        for (int i = 0; i < 6; i++) {
            alone.add(local(request("j" + i, 24).setSeed(i)));
        }
        try (var callers = Executors.newVirtualThreadPerTaskExecutor()) {
            List<Future<Reply>> together = IntStream.range(0, 6)
                    .mapToObj(i -> callers.submit(() -> Reply.read(
                            decode.generate(split(request("k" + i, 24).setSeed(i))))))
                    .toList();
            for (int i = 0; i < 6; i++) {
                assertThat(together.get(i).get().ids()).isEqualTo(alone.get(i).ids());
            }
        }
    }

    @Test
    void aCallerThatHangsUpLeavesNothingBehind() {
        DecodeRequest request = split(request("l1", 1500));
        Context.CancellableContext call = Context.current().withCancellation();
        Context previous = call.attach();
        try {
            Iterator<GenerateEvent> events = decode.generate(request);
            assertThat(events.next().getTokens().getIdsCount()).isPositive();
            assertThat(suite.loop().stats().runningSequences()).isEqualTo(1);
        } finally {
            call.detach(previous);
            call.cancel(null);
        }
        await().atMost(SOON).until(() -> suite.loop().stats().runningSequences() == 0);
    }

    @Test
    void aFullInstanceRefusesWithATimeToWait() {
        Context.CancellableContext call = Context.current().withCancellation();
        Context previous = call.attach();
        try {
            DecodeRequest taken =
                    DecodeRequest.newBuilder().setRequest(request("m1", 1500)).build();
            assertThat(suite.trusting().generate(taken).hasNext()).isTrue();
        } finally {
            call.detach(previous);
        }
        MillraceException refusal = refusal(suite.trusting(), split(request("m2", 5)));
        assertThat(refusal.code()).isEqualTo(ErrorCode.QUEUE_FULL);
        assertThat(refusal.retryAfterMillis()).isPositive();
        call.cancel(null);
        await().atMost(SOON).until(() -> suite.trustingLoop().stats().freePages() == Suite.PAGES);
        // The lease was not joined: it is still there for another instance.
        assertThat(cache.leases()).containsExactly("m2/0/0");
        GenerateRequest.Builder again = request("m2", 5);
        assertThat(Reply.read(decode.generate(split(again))).ids()).hasSize(5);
    }

    @Test
    void aServiceThatStopsFinishesItsStreams() throws Exception {
        ConfigurableApplicationContext another = suite.another();
        try (var stopper = Executors.newVirtualThreadPerTaskExecutor()) {
            Iterator<GenerateEvent> events = suite.decode(another)
                    .generate(DecodeRequest.newBuilder()
                            .setRequest(request("o1", 200))
                            .build());
            assertThat(events.next().getTokens().getFirstPosition()).isZero();
            Future<Integer> stopped = stopper.submit(() -> SpringApplication.exit(another));
            Reply rest = Reply.read(events);
            assertThat(rest.firstPosition() + rest.ids().size()).isEqualTo(200);
            assertThat(stopped.get()).isZero();
        }
    }

    @Test
    void aStreamThatOutlastsTheGracePeriodHearsWhyItEnds() throws Exception {
        ConfigurableApplicationContext another = suite.another("--spring.grpc.server.shutdown.grace-period=500ms");
        try (var stopper = Executors.newVirtualThreadPerTaskExecutor()) {
            Iterator<GenerateEvent> events = suite.decode(another)
                    .generate(DecodeRequest.newBuilder()
                            .setRequest(request("o2", 1900))
                            .build());
            assertThat(events.next().getTokens().getFirstPosition()).isZero();
            Future<Integer> stopped = stopper.submit(() -> SpringApplication.exit(another));
            assertThatThrownBy(() -> Reply.read(events)).isInstanceOfSatisfying(StatusRuntimeException.class, e -> {
                MillraceException error = GrpcErrors.fromThrowable(e, Leg.DECODE);
                assertThat(error.code()).isEqualTo(ErrorCode.SHUTTING_DOWN);
                assertThat(error).hasMessage("this instance is shutting down");
            });
            assertThat(stopped.get(20, TimeUnit.SECONDS)).isZero();
        }
    }

    /// An interrupt is something its thread does not expect.
    @Test
    void aServiceWhoseEngineDiedSaysWhyAndIsToEnd() throws Exception {
        Set<Thread> before = loopThreads();
        CompletableFuture<String> told = new CompletableFuture<>();
        ConfigurableApplicationContext mortal = suite.mortal(told::complete);
        try {
            assertThat(Suite.get(mortal, "/actuator/health/readiness")).contains("\"UP\"");
            assertThat(loopThreads())
                    .filteredOn(thread -> !before.contains(thread))
                    .singleElement()
                    .satisfies(Thread::interrupt);
            String reason = told.get(20, TimeUnit.SECONDS);
            assertThat(reason)
                    .isEqualTo("the engine of this instance has died and cannot go on: its thread was interrupted");
            assertThat(Suite.get(mortal, "/actuator/health/readiness")).contains("\"OUT_OF_SERVICE\"");
            DecodeRequest late =
                    DecodeRequest.newBuilder().setRequest(request("q1", 5)).build();
            MillraceException refusal = refusal(suite.decode(mortal), late);
            assertThat(refusal.code()).isEqualTo(ErrorCode.ENGINE_FAILED);
            assertThat(refusal).hasMessage(reason);
        } finally {
            SpringApplication.exit(mortal);
        }
    }

    private static Set<Thread> loopThreads() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().equals("engine-loop-decode"))
                .collect(Collectors.toSet());
    }

    @Test
    void describesItselfAndIsMeasured() throws Exception {
        assertThat(Reply.read(decode.generate(split(request("n1", 5)))).ids()).hasSize(5);
        assertThat(decode.describe(DescribeRequest.getDefaultInstance()).getModel())
                .isEqualTo("millrace-mini");
        assertThat(suite.get("/actuator/prometheus"))
                .contains("millrace_decode_prompt_tokens_computed_total")
                .contains("vllm:request_success_total")
                .contains("vllm:generation_tokens_total")
                .contains("vllm:num_requests_running")
                .contains("millrace_kv_transfer_bytes_total");
        assertThat(suite.get("/actuator/prometheus").lines().filter(line -> line.startsWith("vllm:")))
                .allMatch(line -> line.contains("model_name=\"millrace-mini\""));
        assertThat(suite.get("/actuator/health/readiness")).contains("\"UP\"");
    }
}
