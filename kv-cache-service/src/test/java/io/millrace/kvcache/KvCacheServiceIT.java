package io.millrace.kvcache;

import static io.millrace.kvcache.Blocks.NAMESPACE;
import static io.millrace.kvcache.Blocks.SIZES;
import static io.millrace.kvcache.Blocks.chain;
import static io.millrace.kvcache.Blocks.data;
import static io.millrace.kvcache.Blocks.id;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.protobuf.ByteString;
import io.grpc.Server;
import io.grpc.StatusRuntimeException;
import io.grpc.health.v1.HealthCheckRequest;
import io.grpc.health.v1.HealthCheckResponse;
import io.grpc.health.v1.HealthGrpc;
import io.grpc.stub.StreamObserver;
import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.kvcache.store.BlockStore;
import io.millrace.proto.v1.EventsRequest;
import io.millrace.proto.v1.FetchRequest;
import io.millrace.proto.v1.HoldRequest;
import io.millrace.proto.v1.HoldResponse;
import io.millrace.proto.v1.KvCacheServiceGrpc;
import io.millrace.proto.v1.KvEvent;
import io.millrace.proto.v1.MatchRequest;
import io.millrace.proto.v1.PinRequest;
import io.millrace.proto.v1.PutRequest;
import io.millrace.rpc.CacheFault;
import io.millrace.rpc.FetchQuery;
import io.millrace.rpc.FetchResult;
import io.millrace.rpc.GrpcErrors;
import io.millrace.rpc.KvCacheClient;
import io.millrace.rpc.Leg;
import io.millrace.rpc.MatchResult;
import io.millrace.rpc.PinResult;
import io.millrace.rpc.PutResult;
import io.millrace.rpc.PutStream;
import io.millrace.rpc.SectionSizes;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.assertj.core.api.Assertions;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/// The service over real sockets, used through the client that prefill and decode use.
class KvCacheServiceIT {
    private final CacheProcess cache = new CacheProcess();
    private final KvCacheClient prefill = cache.client("prefill-1");
    private final KvCacheClient decode = cache.client("decode-1");

    @AfterEach
    void stop() {
        cache.close();
    }

    @Test
    void blocksAndTailGoFromPrefillToDecode() throws Exception {
        prefill.start();
        decode.start();
        await().until(() ->
                prefill.bootEpoch().isPresent() && decode.bootEpoch().isPresent());
        List<ByteString> chain = chain(3);
        assertThat(prefill.match("r/0/0", NAMESPACE, chain))
                .isEqualTo(new MatchResult.Matched(0, 0, prefill.bootEpoch().orElseThrow()));
        assertThat(prefill.reserve("r/0/0", 4 * SIZES.blockBytes())).isEmpty();
        ByteString tail = PutStream.tailId("r/0/0", 0);
        try (PutStream put = prefill.openPut("r/0/0", NAMESPACE, SIZES)) {
            sendChain(put, chain, SIZES);
            assertThat(put.sendTail(tail, 5, data(tail, SIZES))).isTrue();
            assertThat(put.finish()).isEqualTo(new PutResult.Stored(4, 0, 0));
        }

        List<ByteString> wanted = new ArrayList<>(chain);
        wanted.add(tail);
        assertThat(decode.pin("r/0/0", wanted)).isEqualTo(new PinResult.Pinned(4));
        prefill.release("r/0/0");
        await().until(() -> cache.get("/actuator/millrace/leases").body().contains("[\"decode-1\"]"));
        List<byte[]> got = new ArrayList<>();
        FetchResult result = decode.fetch(
                new FetchQuery("r/0/0", NAMESPACE, wanted, SIZES), (block, section, bytes) -> got.add(bytes));
        assertThat(result).isEqualTo(new FetchResult.Fetched(4, 4 * SIZES.blockBytes()));
        for (int i = 0; i < wanted.size(); i++) {
            assertThat(got.get(2 * i)).isEqualTo(data(wanted.get(i), SIZES)[0]);
            assertThat(got.get(2 * i + 1)).isEqualTo(data(wanted.get(i), SIZES)[1]);
        }

        decode.release("r/0/0");
        await().until(() -> cache.get("/actuator/millrace/leases").body().equals("[]"));
        assertThat(decode.stats().getBlocks()).isEqualTo(3);
        assertThat(decode.stats().getTailBytes()).isZero();
        assertThat(prefill.match("next", NAMESPACE, chain))
                .isInstanceOfSatisfying(
                        MatchResult.Matched.class,
                        matched -> assertThat(matched.blocks()).isEqualTo(3));
        prefill.endLease("next");
        await().until(() -> cache.bean(BlockStore.class).leases().isEmpty());
    }

    @Test
    void brokenHoldStreamEndsTheHoldersLeases() {
        prefill.start();
        await().until(() -> prefill.bootEpoch().isPresent());
        prefill.match("a", NAMESPACE, List.of());
        assertThat(cache.bean(BlockStore.class).leases()).hasSize(1);
        prefill.close();
        await().until(() -> cache.bean(BlockStore.class).leases().isEmpty());
    }

    @Test
    void leaseRunsOutByTheSweeperAndTheFetchIsAFault() {
        prefill.match("a", NAMESPACE, List.of());
        put("a", chain(1), SIZES);
        cache.clock.advanceMillis(30_000);
        await().until(() -> cache.bean(BlockStore.class).leases().isEmpty());
        assertThat(reason(prefill.fetch(new FetchQuery("a", NAMESPACE, chain(1), SIZES), (b, s, d) -> true)))
                .isEqualTo(CacheFault.Reason.LEASE_EXPIRED);
        assertThat(prefill.renew("a")).map(CacheFault::reason).contains(CacheFault.Reason.LEASE_EXPIRED);
    }

    @Test
    void leaseThatEndsDuringAFetchMakesItAFault() {
        SectionSizes large = SectionSizes.of(6 << 20, 6 << 20);
        prefill.match("a", NAMESPACE, List.of());
        put("a", chain(4), large);
        FetchResult result = prefill.fetch(new FetchQuery("a", NAMESPACE, chain(4), large), (block, section, bytes) -> {
            cache.bean(BlockStore.class).release("a", "");
            return true;
        });
        assertThat(reason(result)).isEqualTo(CacheFault.Reason.LEASE_EXPIRED);
    }

    @Test
    void serverThatDiesDuringAFetchMakesItAFault() {
        SectionSizes large = SectionSizes.of(6 << 20, 6 << 20);
        prefill.match("a", NAMESPACE, List.of());
        put("a", chain(4), large);
        Server server = cache.grpcServer();
        FetchResult result = prefill.fetch(new FetchQuery("a", NAMESPACE, chain(4), large), (block, section, bytes) -> {
            server.shutdownNow();
            return true;
        });
        assertThat(reason(result)).isIn(CacheFault.Reason.UNAVAILABLE, CacheFault.Reason.INCOMPLETE);
        await().until(() -> reasonOrNone(prefill.match("b", NAMESPACE, List.of())) == CacheFault.Reason.UNAVAILABLE);
    }

    @Test
    void clientThatGoesAwayMidPutLeavesNothing() {
        PutStream put = prefill.openPut("", NAMESPACE, SIZES);
        put.sendHeader(Blocks.block(id(1), NAMESPACE).getBlock());
        put.sendSection(id(1), 0, data(id(1), SIZES)[0]);
        BlockStore store = cache.bean(BlockStore.class);
        await().until(() -> store.stats().reservedBytes() > 0);
        put.close();
        await().until(() -> store.stats().usedBytes() == 0);
    }

    @Test
    void flippedChecksumIsRefusedOnArrival() throws Exception {
        assertThat(putFailure(
                                Blocks.header("", "", 3),
                                Blocks.block(id(1), NAMESPACE),
                                Blocks.section(id(1), 0, new byte[3], 1))
                        .code())
                .isEqualTo(ErrorCode.KV_CHECKSUM_MISMATCH);
        assertThat(cache.bean(BlockStore.class).stats().usedBytes()).isZero();
        assertThat(cache.get("/actuator/prometheus").body())
                .contains("millrace_kv_cache_checksum_mismatches_total{service=\"kv-cache-service\"} 1.0");
    }

    @Test
    void malformedRequestsNameTheField() throws Exception {
        KvCacheServiceGrpc.KvCacheServiceBlockingStub raw = KvCacheServiceGrpc.newBlockingStub(cache.channel());
        MatchRequest good = MatchRequest.newBuilder()
                .setLeaseId("a")
                .setHolder("p")
                .setNamespace(NAMESPACE)
                .build();
        refused(
                "namespace",
                () -> raw.match(good.toBuilder()
                        .setNamespace(ByteString.copyFrom(new byte[31]))
                        .build()));
        refused("lease_id", () -> raw.match(good.toBuilder().setLeaseId("").build()));
        refused(
                "holder",
                () -> raw.match(good.toBuilder().setHolder("x".repeat(201)).build()));
        refused(
                "block_ids[1]",
                () -> raw.match(good.toBuilder()
                        .addBlockIds(id(1))
                        .addBlockIds(ByteString.EMPTY)
                        .build()));
        refused("lease_duration", () -> {
            MatchRequest.Builder request = good.toBuilder();
            request.getLeaseDurationBuilder().setSeconds(-1);
            return raw.match(request.build());
        });
        refused("lease_duration", () -> {
            PinRequest.Builder request = PinRequest.newBuilder().setLeaseId("a").setHolder("p");
            request.getLeaseDurationBuilder().setSeconds(Long.MAX_VALUE);
            return raw.pin(request.build());
        });
        refused(
                "namespace",
                () -> raw.fetch(FetchRequest.newBuilder()
                                .setLeaseId("a")
                                .setHolder("p")
                                .build())
                        .hasNext());
        refused(
                "start_sequence",
                () -> raw.events(EventsRequest.newBuilder().setStartSequence(-1).build())
                        .hasNext());
        assertThat(putFailure(Blocks.block(id(1), NAMESPACE)).param()).contains("header");
        assertThat(putFailure(Blocks.header("", "")).param()).contains("header.section_bytes");
        assertThat(putFailure(Blocks.header("", "", 4, -1)).param()).contains("header.section_bytes[1]");
        assertThat(putFailure(Blocks.header("", "", 4, Integer.MAX_VALUE)).param())
                .contains("header.section_bytes[1]");
        assertThat(putFailure(Blocks.header("", "", 3), Blocks.section(id(1), 0, new byte[3], 0))
                        .param())
                .contains("section.block_id");
        assertThat(putFailure(Blocks.header("nobody", "p", 3)).code()).isEqualTo(ErrorCode.LEASE_EXPIRED);
        assertThat(putFailure(PutRequest.getDefaultInstance()).param()).contains("frame");
    }

    @Test
    void eventsBeginWithASnapshotAndGoOn() {
        put("", chain(2), SIZES);
        Iterator<KvEvent> events = KvCacheServiceGrpc.newBlockingStub(cache.channel())
                .withDeadlineAfter(20, TimeUnit.SECONDS)
                .events(EventsRequest.getDefaultInstance());
        KvEvent first = events.next();
        KvEvent second = events.next();
        assertThat(first.getStored().getId()).isEqualTo(id(1));
        assertThat(second.getStored().getParentId()).isEqualTo(id(1));
        assertThat(second.getSequence()).isEqualTo(first.getSequence()).isPositive();
        cache.bean(BlockStore.class).evict(1);
        KvEvent third = events.next();
        assertThat(third.getRemoved().getId()).isEqualTo(id(2));
        assertThat(third.getSequence()).isEqualTo(second.getSequence() + 1);
    }

    @Test
    void healthMetricsAndReadinessAreUp() throws Exception {
        assertThat(cache.get("/actuator/health").body()).contains("\"status\":\"UP\"");
        assertThat(cache.get("/actuator/health/liveness").statusCode()).isEqualTo(200);
        assertThat(cache.get("/actuator/health/readiness").statusCode()).isEqualTo(200);
        assertThat(cache.get("/actuator/millrace/leases").body()).isEqualTo("[]");
        assertThat(cache.get("/actuator/millrace/secrets").statusCode()).isEqualTo(404);
        assertThat(cache.get("/actuator/prometheus").body())
                .contains("millrace_kv_cache_capacity_bytes{service=\"kv-cache-service\"} 2.68435456E8");
        HealthGrpc.HealthBlockingStub health = HealthGrpc.newBlockingStub(cache.channel());
        await().until(() ->
                health.check(HealthCheckRequest.getDefaultInstance()).getStatus()
                        == HealthCheckResponse.ServingStatus.SERVING);
    }

    @Test
    void shutdownEndsHoldAndEventStreamsAtOnce() {
        prefill.start();
        await().until(() -> prefill.bootEpoch().isPresent());
        CompletableFuture<Throwable> events = new CompletableFuture<>();
        KvCacheServiceGrpc.newStub(cache.channel()).events(EventsRequest.getDefaultInstance(), failure(events));
        await().until(() -> cache.get("/actuator/prometheus")
                .body()
                .contains("millrace_kv_cache_event_streams{service=\"kv-cache-service\"} 1.0"));
        long start = System.nanoTime();
        cache.stop();
        assertThat(System.nanoTime() - start).isLessThan(TimeUnit.SECONDS.toNanos(10));
        assertThat(GrpcErrors.fromThrowable(events.join(), Leg.CACHE).code()).isEqualTo(ErrorCode.SHUTTING_DOWN);
        assertThat(prefill.bootEpoch()).isEmpty();
    }

    /// Its answer would tell the holder that the cache is there again.
    @Test
    void aHolderThatComesDuringTheShutdownGetsNoAnswer() {
        cache.bean(OpenStreams.class).endAll();
        CompletableFuture<Throwable> first = new CompletableFuture<>();
        StreamObserver<HoldResponse> responses = new StreamObserver<>() {
            @Override
            public void onNext(HoldResponse response) {
                first.complete(new AssertionError("answered: " + response));
            }

            @Override
            public void onError(Throwable t) {
                first.complete(t);
            }

            @Override
            public void onCompleted() {}
        };
        KvCacheServiceGrpc.newStub(cache.channel())
                .hold(responses)
                .onNext(HoldRequest.newBuilder().setHolder("late").build());
        assertThat(GrpcErrors.fromThrowable(first.join(), Leg.CACHE).code()).isEqualTo(ErrorCode.SHUTTING_DOWN);
    }

    private void put(String lease, List<ByteString> chain, SectionSizes sizes) {
        try (PutStream put = prefill.openPut(lease, NAMESPACE, sizes)) {
            sendChain(put, chain, sizes);
            assertThat(put.finish()).isEqualTo(new PutResult.Stored(chain.size(), 0, 0));
        }
    }

    private static void sendChain(PutStream put, List<ByteString> chain, SectionSizes sizes) {
        for (int i = 0; i < chain.size(); i++) {
            assertThat(put.sendBlock(chain.get(i), Blocks.parent(chain, i), data(chain.get(i), sizes)))
                    .isTrue();
        }
    }

    private MillraceException putFailure(PutRequest... frames) throws Exception {
        CompletableFuture<Throwable> failure = new CompletableFuture<>();
        StreamObserver<PutRequest> requests =
                KvCacheServiceGrpc.newStub(cache.channel()).put(failure(failure));
        for (PutRequest frame : frames) {
            requests.onNext(frame);
        }
        return GrpcErrors.fromThrowable(failure.get(10, TimeUnit.SECONDS), Leg.CACHE);
    }

    private static <T> StreamObserver<T> failure(CompletableFuture<Throwable> failure) {
        return new StreamObserver<>() {
            @Override
            public void onNext(T value) {}

            @Override
            public void onError(Throwable t) {
                failure.complete(t);
            }

            @Override
            public void onCompleted() {
                failure.complete(new AssertionError("no failure"));
            }
        };
    }

    private static void refused(String param, Callable<?> call) {
        Assertions.assertThatThrownBy(call::call).isInstanceOfSatisfying(StatusRuntimeException.class, e -> {
            MillraceException refusal = GrpcErrors.fromThrowable(e, Leg.CACHE);
            assertThat(refusal.code()).isEqualTo(ErrorCode.INVALID_REQUEST);
            assertThat(refusal.param()).contains(param);
            assertThat(refusal).hasMessageStartingWith(param + ": ");
        });
    }

    private static CacheFault.Reason reason(FetchResult result) {
        return switch (result) {
            case FetchResult.Faulted faulted -> faulted.fault().reason();
            case FetchResult.Fetched fetched -> throw new AssertionError("fetched: " + fetched);
        };
    }

    private static CacheFault.Reason reasonOrNone(MatchResult result) {
        return switch (result) {
            case MatchResult.Faulted faulted -> faulted.fault().reason();
            case MatchResult.Matched _ -> CacheFault.Reason.CACHE_FULL;
        };
    }
}
