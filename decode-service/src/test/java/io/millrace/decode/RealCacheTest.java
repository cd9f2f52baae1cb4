package io.millrace.decode;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.grpc.Context;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.millrace.kvcache.KvCacheApplication;
import io.millrace.proto.v1.DecodeRequest;
import io.millrace.proto.v1.GenerateEvent;
import io.millrace.proto.v1.GenerateRequest;
import io.millrace.proto.v1.KvCacheServiceGrpc;
import io.millrace.proto.v1.PrefillReply;
import io.millrace.proto.v1.Sampling;
import io.millrace.proto.v1.StatsRequest;
import io.millrace.proto.v1.StatsResponse;
import java.time.Duration;
import java.util.Iterator;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.springframework.boot.SpringApplication;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.grpc.server.lifecycle.GrpcServerLifecycle;

/// Prefill, decode and the real kv-cache-service together.
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class RealCacheTest {
    private static final List<Integer> PROMPT =
            new Random(4).ints(100, 0, 4000).boxed().toList();

    @SuppressWarnings("NullAway.Init")
    private static ConfigurableApplicationContext cache;

    @SuppressWarnings("NullAway.Init")
    private static ManagedChannel cacheChannel;

    @SuppressWarnings("NullAway.Init")
    private static Suite suite;

    @BeforeAll
    static void start() {
        cache = KvCacheApplication.builder().run("--spring.grpc.server.port=0", "--server.port=0");
        String target = "localhost:" + cache.getBean(GrpcServerLifecycle.class).getPort();
        cacheChannel = Grpc.newChannelBuilder(target, InsecureChannelCredentials.create())
                .build();
        suite = new Suite(target);
    }

    @AfterAll
    static void stop() {
        suite.close();
        cacheChannel.shutdownNow();
        SpringApplication.exit(cache);
    }

    private static StatsResponse stats() {
        return KvCacheServiceGrpc.newBlockingStub(cacheChannel).stats(StatsRequest.getDefaultInstance());
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

    private static DecodeRequest split(GenerateRequest.Builder request) {
        PrefillReply prefill = suite.prefill().prefill(request.build());
        return DecodeRequest.newBuilder()
                .setRequest(request)
                .setPrefill(prefill)
                .build();
    }

    @Test
    @Order(1)
    void blocksAndTailGoThroughTheCache() {
        DecodeRequest apart = split(request("a1", 60));
        assertThat(apart.getPrefill().getBlocksStored()).isTrue();
        assertThat(stats().getLeases()).isEqualTo(1);
        assertThat(stats().getTailBytes()).isPositive();
        long before = suite.loop().stats().promptTokensComputed();
        Reply reply = Reply.read(suite.decode().generate(apart));
        assertThat(suite.loop().stats().promptTokensComputed()).isEqualTo(before);
        await().atMost(Duration.ofSeconds(2)).until(() -> stats().getLeases() == 0);
        assertThat(stats().getTailBytes()).isZero();
        assertThat(stats().getBlocks()).isEqualTo(2);

        Reply local = Reply.read(suite.decode()
                .generate(
                        DecodeRequest.newBuilder().setRequest(request("a2", 60)).build()));
        assertThat(local.ids()).isEqualTo(reply.ids());
        assertThat(local.logprobs()).isEqualTo(reply.logprobs());
        DecodeRequest nextTurn = split(request("a3", 4).addAllPromptIds(reply.ids()));
        assertThat(nextTurn.getPrefill().getCachedTokens().getMemory()).isEqualTo(128);
        assertThat(Reply.read(suite.decode().generate(nextTurn)).ids()).hasSize(4);
        await().atMost(Duration.ofSeconds(2)).until(() -> stats().getLeases() == 0);
    }

    @Test
    @Order(2)
    void aHangUpEndsTheLease() {
        DecodeRequest request = split(request("b1", 1500));
        Context.CancellableContext call = Context.current().withCancellation();
        Context previous = call.attach();
        try {
            Iterator<GenerateEvent> events = suite.decode().generate(request);
            assertThat(events.next().getTokens().getIdsCount()).isPositive();
        } finally {
            call.detach(previous);
            call.cancel(null);
        }
        await().atMost(Duration.ofSeconds(2))
                .until(() -> stats().getLeases() == 0 && suite.loop().stats().freePages() == Suite.PAGES);
    }

    @Test
    @Order(3)
    void aCacheThatDiesCostsOnlyRecompute() {
        Reply clean = Reply.read(suite.decode().generate(split(request("c1", 20))));
        DecodeRequest between = split(request("c2", 20));
        SpringApplication.exit(cache);
        assertThat(Reply.read(suite.decode().generate(between)).ids()).isEqualTo(clean.ids());
        DecodeRequest after = split(request("c3", 20));
        assertThat(after.getPrefill().getBlocksStored()).isFalse();
        assertThat(Reply.read(suite.decode().generate(after)).ids()).isEqualTo(clean.ids());
    }
}
