package io.millrace.rpc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import com.google.protobuf.ByteString;
import io.grpc.Context;
import io.grpc.ManagedChannel;
import io.grpc.Server;
import io.grpc.ServerInterceptors;
import io.grpc.Status;
import io.grpc.inprocess.InProcessChannelBuilder;
import io.grpc.inprocess.InProcessServerBuilder;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.engine.kv.BlockChecksum;
import io.millrace.proto.v1.BlockSection;
import io.millrace.proto.v1.FetchDone;
import io.millrace.proto.v1.FetchResponse;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

class KvCacheClientTest {
    private static final ByteString NAMESPACE = ByteString.copyFrom(new byte[32]);
    private static final ByteString BLOCK = ByteString.copyFrom(new byte[] {1, 2, 3});
    private static final KvCacheClientSettings SETTINGS =
            new KvCacheClientSettings(300, 5_000, 5_000, 2_000, 90, 10, 40, 1 << 20, true);

    private final FakeCache cache = new FakeCache();
    private final SimpleMeterRegistry meters = new SimpleMeterRegistry();
    private Server server;
    private ManagedChannel channel;
    private KvCacheClient client;

    @BeforeEach
    void start() throws IOException {
        String name = UUID.randomUUID().toString();
        server = InProcessServerBuilder.forName(name)
                .addService(ServerInterceptors.intercept(cache, new GrpcErrorInterceptor()))
                .build()
                .start();
        channel = InProcessChannelBuilder.forName(name).build();
        client = new KvCacheClient(channel, "prefill-1", SETTINGS, meters, () -> 0);
    }

    @AfterEach
    void stop() {
        client.close();
        channel.shutdownNow();
        server.shutdownNow();
    }

    @Test
    void holdStreamOpensAgainWhenItBreaksAndEndsOnClose() {
        assertThat(client.bootEpoch()).isEmpty();
        client.start();
        client.start();
        await().until(() -> client.bootEpoch().isPresent());
        assertThat(cache.holds).hasSize(1);

        cache.holds.removeFirst().onError(Status.UNAVAILABLE.asRuntimeException());
        await().until(() -> cache.holds.size() == 1 && client.bootEpoch().isPresent());

        client.close();
        assertThat(client.bootEpoch()).isEmpty();
        await().until(cache.holds::isEmpty);
    }

    /// The fake cache knows no release.
    @Test
    void releasesThatFailAreToldButOfALostCacheAndNoMoreThanSomeAMinute() {
        try (Warnings said = new Warnings()) {
            connect();
            for (int i = 0; i < 50; i++) {
                client.release("lease-" + i);
            }
            await().during(Duration.ofMillis(300)).until(() -> said.lines().size() == KvCacheClient.LINES_A_MINUTE);
            assertThat(said.lines()).allMatch(line -> line.startsWith("release of lease lease-"));
        }
    }

    @Test
    void aLostCacheIsToldOnceAndNotByWhatIsReleased() {
        try (Warnings said = new Warnings()) {
            connect();
            server.shutdownNow();
            await().until(() -> client.bootEpoch().isEmpty());
            client.match("lease", NAMESPACE, List.of());
            client.release("lease");
            client.endLease("other");
            // Its answer comes after theirs.
            client.match("later", NAMESPACE, List.of());
            assertThat(said.lines())
                    .satisfiesExactly(
                            line -> assertThat(line).startsWith("prefix cache lost: "),
                            line -> assertThat(line).startsWith("prefix cache: match gave nothing (unavailable)"),
                            line -> assertThat(line).startsWith("prefix cache: match gave nothing (unavailable)"));
        }
    }

    private void connect() {
        client.start();
        await().until(() -> client.bootEpoch().isPresent());
    }

    /// What the package warns of, from now on.
    private static final class Warnings implements AutoCloseable {
        private final Logger log = (Logger) LoggerFactory.getLogger("io.millrace.rpc");
        private final ListAppender<ILoggingEvent> said = new ListAppender<>();

        Warnings() {
            said.list = new CopyOnWriteArrayList<>();
            said.start();
            log.addAppender(said);
        }

        List<String> lines() {
            return said.list.stream()
                    .filter(event -> event.getLevel() == Level.WARN)
                    .map(ILoggingEvent::getFormattedMessage)
                    .toList();
        }

        @Override
        public void close() {
            log.detachAppender(said);
        }
    }

    @Test
    void leaseKeeperRenewsUntilClosed() {
        LeaseKeeper keeper = client.keepAlive("lease");
        await().until(() -> cache.renewals.get() >= 2);
        keeper.close();
        await().pollDelay(100, TimeUnit.MILLISECONDS).until(() -> {
            int before = cache.renewals.get();
            await().pollDelay(70, TimeUnit.MILLISECONDS).until(() -> true);
            return cache.renewals.get() == before;
        });
    }

    @Test
    void silentCacheIsAFaultAfterTheDeadline() {
        MatchResult result = client.match("silent", NAMESPACE, List.of());
        assertThat(reason(result)).isEqualTo(CacheFault.Reason.DEADLINE_EXCEEDED);
        assertThat(meters.counter(
                                MetricNames.KV_CACHE_CLIENT_FAULTS, "operation", "match", "reason", "deadline_exceeded")
                        .count())
                .isEqualTo(1);
    }

    @Test
    void deadCacheIsAFault() {
        server.shutdownNow();
        assertThat(reason(client.match("any", NAMESPACE, List.of()))).isEqualTo(CacheFault.Reason.UNAVAILABLE);
    }

    @Test
    void refusedRequestNamesTheFieldAndABugLeaksNoText() {
        assertThat(client.match("param", NAMESPACE, List.of()))
                .isEqualTo(new MatchResult.Faulted(new CacheFault(CacheFault.Reason.REJECTED, "namespace: 0 bytes")));
        assertThat(client.match("bug", NAMESPACE, List.of()))
                .isInstanceOfSatisfying(
                        MatchResult.Faulted.class,
                        faulted -> assertThat(faulted.fault().message())
                                .isEqualTo("millrace.v1.KvCacheService/Match failed; the service's log has the cause"));
    }

    @Test
    void cancelledCallerGetsCancelledAndNotAFault() {
        Context.CancellableContext request = Context.current().withCancellation();
        request.cancel(null);
        assertThatThrownBy(() -> request.call(() -> client.match("any", NAMESPACE, List.of())))
                .isInstanceOfSatisfying(
                        MillraceException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.CANCELLED));
    }

    @Test
    void callersEarlierDeadlineWins() {
        ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor();
        try (Context.CancellableContext request =
                Context.current().withDeadlineAfter(20, TimeUnit.MILLISECONDS, timer)) {
            assertThatThrownBy(() -> request.call(() -> client.match("silent", NAMESPACE, List.of())))
                    .isInstanceOfSatisfying(
                            MillraceException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.DEADLINE_EXCEEDED));
        } finally {
            timer.shutdownNow();
        }
    }

    @Test
    void fetchGivesCheckedSectionsInOrder() {
        cache.section(section(0, new byte[] {1, 2}));
        cache.section(section(1, new byte[] {3}));
        done();
        List<String> got = new ArrayList<>();
        FetchResult result =
                client.fetch(query(), (block, section, data) -> got.add(block + ":" + section + ":" + data.length));
        assertThat(result).isEqualTo(new FetchResult.Fetched(1, 3));
        assertThat(got).containsExactly("0:0:2", "0:1:1");
    }

    @Test
    void flippedBitIsAChecksumFaultAndReachesNoSink() {
        BlockSection good = section(0, new byte[] {1, 2});
        cache.section(
                good.toBuilder().setData(ByteString.copyFrom(new byte[] {1, 3})).build());
        done();
        FetchResult result = client.fetch(query(), (block, section, data) -> {
            throw new AssertionError("used a bad section");
        });
        assertThat(reason(result)).isEqualTo(CacheFault.Reason.CHECKSUM_MISMATCH);
    }

    @Test
    void aSectionThatCannotBeUsedIsAFault() {
        cache.section(section(0, new byte[] {1, 2}));
        cache.section(section(1, new byte[] {3}));
        done();
        FetchResult result = client.fetch(query(), (block, section, data) -> section == 0);
        assertThat(result)
                .isEqualTo(new FetchResult.Faulted(new CacheFault(
                        CacheFault.Reason.BROKEN_VALUES,
                        "section 1 of block 0 holds values that are not finite numbers")));
    }

    @Test
    void fetchWithoutTheLastWordIsAFault() {
        cache.section(section(0, new byte[] {1, 2}));
        cache.section(section(1, new byte[] {3}));
        assertThat(reason(client.fetch(query(), ignore()))).isEqualTo(CacheFault.Reason.INCOMPLETE);
    }

    @Test
    void missingSectionIsAFault() {
        cache.section(section(0, new byte[] {1, 2}));
        done();
        assertThat(reason(client.fetch(query(), ignore()))).isEqualTo(CacheFault.Reason.INCOMPLETE);
    }

    @Test
    void sectionOfAnotherSizeOrOrderIsAFault() {
        cache.section(section(0, new byte[] {1, 2, 3}));
        assertThat(reason(client.fetch(query(), ignore()))).isEqualTo(CacheFault.Reason.INCOMPLETE);
        cache.frames.clear();
        cache.section(section(1, new byte[] {1}));
        assertThat(reason(client.fetch(query(), ignore()))).isEqualTo(CacheFault.Reason.INCOMPLETE);
    }

    @Test
    void failureOfTheSinkIsNoFaultOfTheCache() {
        cache.section(section(0, new byte[] {1, 2}));
        assertThatThrownBy(() -> client.fetch(query(), (block, section, data) -> {
                    throw new IllegalStateException("the pool is closed");
                }))
                .isInstanceOf(IllegalStateException.class);
    }

    private static FetchQuery query() {
        return new FetchQuery("lease", NAMESPACE, List.of(BLOCK), SectionSizes.of(2, 1));
    }

    private static SectionSink ignore() {
        return (block, section, data) -> true;
    }

    private static BlockSection section(int layer, byte[] data) {
        return BlockSection.newBuilder()
                .setBlockId(BLOCK)
                .setLayer(layer)
                .setData(ByteString.copyFrom(data))
                .setCrc32C(BlockChecksum.crc32c(BLOCK.toByteArray(), layer, data))
                .build();
    }

    private void done() {
        cache.frames.add(FetchResponse.newBuilder()
                .setDone(FetchDone.getDefaultInstance())
                .build());
    }

    private static CacheFault.Reason reason(MatchResult result) {
        return switch (result) {
            case MatchResult.Faulted faulted -> faulted.fault().reason();
            case MatchResult.Matched matched -> throw new AssertionError("matched: " + matched);
        };
    }

    private static CacheFault.Reason reason(FetchResult result) {
        return switch (result) {
            case FetchResult.Faulted faulted -> faulted.fault().reason();
            case FetchResult.Fetched fetched -> throw new AssertionError("fetched: " + fetched);
        };
    }
}
