package io.millrace.prefill;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.grpc.Context;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.health.v1.HealthCheckRequest;
import io.grpc.health.v1.HealthCheckResponse;
import io.grpc.health.v1.HealthGrpc;
import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.schedule.EngineLoop;
import io.millrace.proto.v1.DescribeRequest;
import io.millrace.proto.v1.DescribeResponse;
import io.millrace.proto.v1.GenerateRequest;
import io.millrace.proto.v1.PrefillReply;
import io.millrace.proto.v1.PrefillServiceGrpc;
import io.millrace.proto.v1.Sampling;
import io.millrace.rpc.GrpcErrors;
import io.millrace.rpc.Leg;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Executors;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.springframework.boot.SpringApplication;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.grpc.server.lifecycle.GrpcServerLifecycle;

/// The whole service with the embedded model, over real sockets.
class PrefillServiceTest {
    private static final List<Integer> PROMPT =
            new Random(3).ints(150, 0, 4000).boxed().toList();

    private static FakeKvCache cache;
    private static ConfigurableApplicationContext application;
    private static ManagedChannel channel;

    @BeforeAll
    static void start() throws IOException {
        cache = new FakeKvCache();
        application = PrefillApplication.builder()
                .run(
                        "--millrace.model.path=" + System.getProperty("millrace.root") + "/models/mini",
                        "--millrace.prefill.kv-cache-targets=" + cache.target(),
                        "--millrace.prefill.instance=p1",
                        "--millrace.prefill.schedule.step-tokens=64",
                        "--millrace.kv.pool-tokens=1024",
                        "--spring.grpc.server.port=0",
                        "--server.port=0");
        int port = application.getBean(GrpcServerLifecycle.class).getPort();
        channel = Grpc.newChannelBuilder("localhost:" + port, InsecureChannelCredentials.create())
                .build();
    }

    @AfterAll
    static void stop() {
        channel.shutdownNow();
        SpringApplication.exit(application);
        cache.close();
    }

    @BeforeEach
    void emptyCache() {
        cache.clear();
        cache.refusePuts(false);
        cache.loseBlocks(false);
    }

    private static GenerateRequest.Builder request(String id, List<Integer> prompt) {
        return GenerateRequest.newBuilder()
                .setRequestId(id)
                .setLeaseId(id + "/0/0")
                .addAllPromptIds(prompt)
                .setSampling(Sampling.newBuilder().setTemperature(0.7f).setTopLogprobs(2))
                .setSeed(5)
                .setMaxTokens(20);
    }

    private static PrefillReply prefill(GenerateRequest.Builder request) {
        return PrefillServiceGrpc.newBlockingStub(channel).prefill(request.build());
    }

    private static EngineLoop loop() {
        return application.getBean(EngineLoop.class);
    }

    private static String get(String path) throws IOException, InterruptedException {
        String port = application.getEnvironment().getRequiredProperty("local.server.port");
        return HttpClient.newHttpClient()
                .send(
                        HttpRequest.newBuilder(URI.create("http://localhost:" + port + path))
                                .build(),
                        HttpResponse.BodyHandlers.ofString())
                .body();
    }

    @Test
    void putsBlocksAndTailUnderTheLeaseAndHandsItOver() throws Exception {
        PrefillReply reply = prefill(request("r1", PROMPT));
        assertThat(reply.getBlockIdsCount()).isEqualTo(2);
        assertThat(reply.getTail().getTokens()).isEqualTo(22);
        assertThat(reply.getBlocksStored()).isTrue();
        assertThat(reply.getLeaseId()).isEqualTo("r1/0/0");
        assertThat(reply.getFirstToken().getFirstPosition()).isZero();
        assertThat(reply.getFirstToken().getIdsCount()).isEqualTo(1);
        assertThat(reply.getFirstToken().getTopLogprobs(0).getEntriesCount()).isEqualTo(2);
        assertThat(reply.getBoundaryState().size()).isEqualTo(256 * 4);
        assertThat(cache.blocks()).isEqualTo(2);
        assertThat(cache.leases()).contains("r1/0/0");
        assertThat(get("/actuator/millrace/leases")).isEqualTo("[]");
        assertThat(loop().stats().freePages()).isEqualTo(16);
    }

    @Test
    void aHitGivesTheSameAnswerAsAMiss() {
        PrefillReply miss = prefill(request("r2", PROMPT));
        PrefillReply hit = prefill(request("r3", PROMPT));
        assertThat(miss.getCachedTokens().getMemory()).isZero();
        assertThat(hit.getCachedTokens().getMemory()).isEqualTo(128);
        assertThat(hit.getFirstToken()).isEqualTo(miss.getFirstToken());
        assertThat(hit.getBoundaryState()).isEqualTo(miss.getBoundaryState());
        assertThat(hit.getBlockIdsList()).isEqualTo(miss.getBlockIdsList());
    }

    @Test
    void goesOnFromGeneratedTokens() {
        PrefillReply first = prefill(request("r4", PROMPT));
        int token = first.getFirstToken().getIds(0);
        PrefillReply second =
                prefill(request("r5", PROMPT).addGeneratedIds(token).setAttempt(1));
        assertThat(second.getFirstToken().getFirstPosition()).isEqualTo(1);
        assertThat(second.getTail().getTokens()).isEqualTo(23);
    }

    @Test
    void wholeBlocksHaveNoTail() {
        PrefillReply reply = prefill(request("r6", PROMPT.subList(0, 128)));
        assertThat(reply.hasTail()).isFalse();
        assertThat(reply.getBlocksStored()).isTrue();
        assertThat(reply.getBoundaryState().size()).isEqualTo(1024);
        PrefillReply hit = prefill(request("r7", PROMPT.subList(0, 128)));
        assertThat(hit.getCachedTokens().getMemory()).isEqualTo(64);
        assertThat(hit.getFirstToken()).isEqualTo(reply.getFirstToken());
    }

    @Test
    void aFaultOfTheCacheCostsOnlyRecompute() {
        PrefillReply clean = prefill(request("r8", PROMPT));
        cache.loseBlocks(true);
        PrefillReply lost = prefill(request("r9", PROMPT));
        cache.loseBlocks(false);
        cache.flip(2, 100, 1);
        PrefillReply flipped = prefill(request("r10", PROMPT));
        assertThat(lost.getCachedTokens().getMemory()).isZero();
        assertThat(lost.getFirstToken()).isEqualTo(clean.getFirstToken());
        assertThat(flipped.getFirstToken()).isEqualTo(clean.getFirstToken());
    }

    @Test
    void aPutThatFailsIsSaidAndItsLeaseEnds() {
        cache.refusePuts(true);
        PrefillReply reply = prefill(request("r11", PROMPT));
        assertThat(reply.getBlocksStored()).isFalse();
        assertThat(reply.getFirstToken().getIdsCount()).isEqualTo(1);
        await().until(() -> !cache.leases().contains("r11/0/0"));
    }

    @Test
    void refusesWhatCannotBe() {
        List<Integer> tooLong = IntStream.range(0, 1024).boxed().toList();
        assertThat(code(request("r12", tooLong))).isEqualTo(ErrorCode.KV_POOL_EXCEEDED);
        assertThat(code(request("r13", List.of(4096)))).isEqualTo(ErrorCode.INVALID_REQUEST);
        assertThat(code(request("r14", PROMPT).setAdapter("a"))).isEqualTo(ErrorCode.NOT_SUPPORTED);
        GenerateRequest.Builder hot = request("r15", PROMPT);
        hot.getSamplingBuilder().setTemperature(-1);
        assertThat(code(hot)).isEqualTo(ErrorCode.INVALID_REQUEST);
        assertThat(cache.leases()).doesNotContain("r12/0/0", "r13/0/0", "r14/0/0", "r15/0/0");
    }

    private static ErrorCode code(GenerateRequest.Builder request) {
        try {
            prefill(request);
            throw new AssertionError("not refused");
        } catch (StatusRuntimeException e) {
            return GrpcErrors.fromThrowable(e, Leg.PREFILL).code();
        }
    }

    @Test
    void aCallerThatHangsUpLeavesNothingBehind() {
        List<Integer> prompt = new Random(9).ints(900, 0, 4000).boxed().toList();
        Context.CancellableContext call = Context.current().withCancellation();
        try (var caller = Executors.newVirtualThreadPerTaskExecutor()) {
            var answer = caller.submit(call.wrap(() -> prefill(request("r16", prompt))));
            await().until(() -> loop().stats().runningSequences() == 1);
            call.cancel(null);
            assertThatThrownBy(answer::get)
                    .cause()
                    .isInstanceOfSatisfying(
                            StatusRuntimeException.class,
                            e -> assertThat(e.getStatus().getCode()).isEqualTo(Status.Code.CANCELLED));
        }
        await().until(() -> loop().stats().freePages() == 16
                && !cache.leases().contains("r16/0/0")
                && get("/actuator/millrace/leases").equals("[]"));
    }

    @Test
    void callersWhoHangUpAtAnyMomentLeaveNothingBehind() throws Exception {
        Random random = new Random(31);
        try (var callers = Executors.newVirtualThreadPerTaskExecutor()) {
            for (int round = 0; round < 12; round++) {
                for (int i = 0; i < 2; i++) {
                    String id = "h" + round + "-" + i;
                    List<Integer> prompt = random.ints(600, 0, 4000).boxed().toList();
                    Context.CancellableContext call = Context.current().withCancellation();
                    var _ = callers.submit(call.wrap(() -> prefill(request(id, prompt))));
                    LockSupport.parkNanos(random.nextInt(150_000_000));
                    call.cancel(null);
                }
                await().atMost(Duration.ofSeconds(5))
                        .until(() -> loop().stats().freePages() == 16
                                && loop().stats().reservations() == 0);
            }
        }
        await().until(() -> get("/actuator/millrace/leases").equals("[]"));
        assertThat(prefill(request("h-last", PROMPT)).getBlocksStored()).isTrue();
    }

    @Test
    void describesItself() {
        DescribeResponse described =
                PrefillServiceGrpc.newBlockingStub(channel).describe(DescribeRequest.getDefaultInstance());
        assertThat(described.getInstance()).isEqualTo("p1");
        assertThat(described.getModel()).isEqualTo("millrace-mini");
        assertThat(described.getMaxContextTokens()).isEqualTo(8192);
        assertThat(described.getKvPoolTokens()).isEqualTo(1024);
        assertThat(described.getWeightsDigest().size()).isEqualTo(32);
    }

    @Test
    void isHealthyAndMeasured() throws Exception {
        prefill(request("r17", PROMPT));
        HealthCheckResponse health = HealthGrpc.newBlockingStub(channel).check(HealthCheckRequest.getDefaultInstance());
        assertThat(health.getStatus()).isEqualTo(HealthCheckResponse.ServingStatus.SERVING);
        assertThat(get("/actuator/health/readiness")).contains("\"UP\"");
        assertThat(get("/actuator/health/liveness")).contains("\"UP\"");
        assertThat(get("/actuator/millrace/nonsense")).doesNotContain("r17");
        assertThat(get("/actuator/prometheus"))
                .contains("vllm:prompt_tokens_total")
                .contains("vllm:time_to_first_token_seconds_bucket")
                .contains("vllm:kv_cache_usage_perc")
                .contains("millrace_cached_prompt_tokens_total")
                .doesNotContain("vllm:request_decode_time_seconds")
                .doesNotContain("vllm:inter_token_latency_seconds")
                .doesNotContain("vllm:e2e_request_latency_seconds");
        allOfVllmNameTheModel(get("/actuator/prometheus"));
    }

    private static void allOfVllmNameTheModel(String metrics) {
        assertThat(metrics.lines().filter(line -> line.startsWith("vllm:")))
                .isNotEmpty()
                .allMatch(line -> line.contains("model_name=\"millrace-mini\""));
    }

    @Test
    void unknownKeysFailTheStart() {
        assertThatThrownBy(() -> PrefillApplication.builder()
                        .run(
                                "--millrace.model.path=nowhere",
                                "--millrace.prefill.no-such-key=1",
                                "--spring.grpc.server.port=0",
                                "--server.port=0"))
                .hasStackTraceContaining("no-such-key");
        assertThatThrownBy(() -> PrefillApplication.builder()
                        .run(
                                "--millrace.model.path=nowhere",
                                "--millrace.kernels.no-such-key=1",
                                "--spring.grpc.server.port=0",
                                "--server.port=0"))
                .hasStackTraceContaining("no-such-key");
    }
}
