package io.millrace.rpc;

import com.google.protobuf.ByteString;
import com.google.protobuf.Duration;
import io.grpc.Channel;
import io.grpc.Context;
import io.grpc.stub.StreamObserver;
import io.micrometer.core.instrument.MeterRegistry;
import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.proto.v1.KvCacheServiceGrpc;
import io.millrace.proto.v1.MatchRequest;
import io.millrace.proto.v1.MatchResponse;
import io.millrace.proto.v1.PinRequest;
import io.millrace.proto.v1.ReleaseRequest;
import io.millrace.proto.v1.ReleaseResponse;
import io.millrace.proto.v1.RenewRequest;
import io.millrace.proto.v1.RenewResponse;
import io.millrace.proto.v1.ReserveRequest;
import io.millrace.proto.v1.StatsRequest;
import io.millrace.proto.v1.StatsResponse;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/// A process's one client of the prefix cache.
///
/// Calls block the calling thread (a virtual one) and have a deadline: their own, or the caller's where
/// that is
/// earlier. They run in the caller's gRPC context, so a cancelled request cancels them; then they throw
/// [MillraceException] with CANCELLED or DEADLINE_EXCEEDED. Every other failure is the cache's and
/// comes back as a
/// [CacheFault], counted and logged once: the caller computes what it did not get.
///
/// [#release] and [#endLease] do not block, run outside the caller's context (they are what a cancelled
/// request does
/// last) and need no answer: a lease nobody renews ends by itself.
///
/// The client holds its leases by one `Hold` stream, opened by [#start], opened again with a growing
/// wait when it
/// breaks, and ended by [#close]. The Hold stream has no deadline: a dead peer shows by the channel's
/// keep-alive.
public final class KvCacheClient implements AutoCloseable {
    static final int LINES_A_MINUTE = 10;
    private static final Logger log = LoggerFactory.getLogger(KvCacheClient.class);

    private final Channel channel;
    private final String holder;
    private final KvCacheClientSettings settings;
    private final CacheFaults faults;
    private final ScheduledExecutorService timer;
    private final HoldStream hold;
    private final LineLimit lines;

    /// @param channel  borrowed: the caller closes it after this client; should have keep-alive on
    /// @param holder   name of this process among all holders: unique, also over restarts
    public KvCacheClient(Channel channel, String holder, KvCacheClientSettings settings, MeterRegistry meters) {
        this(channel, holder, settings, meters, System::nanoTime);
    }

    /// @param nanos  a clock that never goes back
    KvCacheClient(
            Channel channel, String holder, KvCacheClientSettings settings, MeterRegistry meters, LongSupplier nanos) {
        if (holder.isEmpty()) {
            throw new IllegalArgumentException("holder: \"\" (expected: a name unique to this process)");
        }
        this.channel = channel;
        this.holder = holder;
        this.settings = settings;
        this.faults = new CacheFaults(meters);
        this.timer = Executors.newSingleThreadScheduledExecutor(
                Thread.ofVirtual().name("kv-cache-client-timer").factory());
        this.hold = new HoldStream(channel, holder, settings, timer);
        this.lines = new LineLimit(LINES_A_MINUTE, nanos);
    }

    /// Opens the Hold stream; does not wait for the cache to be there.
    public void start() {
        hold.start();
    }

    /// Ends the Hold stream, and with it the leases only this process held.
    @Override
    public void close() {
        hold.close();
        timer.shutdownNow();
    }

    public String holder() {
        return holder;
    }

    /// The start of the cache that the Hold stream is connected to; empty while it is not connected.
    public Optional<String> bootEpoch() {
        return hold.bootEpoch();
    }

    /// Finds the longest stored prefix of a chain and opens (or extends) the lease over it.
    ///
    /// @param namespace  32 bytes
    /// @param blockIds   ids of the chain from its first block on: at most ⌊(n−1)/64⌋ for a prompt of n
    ///                   tokens; may be empty, to open a lease for the blocks and the tail of a put
    public MatchResult match(String leaseId, ByteString namespace, List<ByteString> blockIds) {
        MatchRequest request = MatchRequest.newBuilder()
                .setLeaseId(leaseId)
                .setHolder(holder)
                .setNamespace(namespace)
                .addAllBlockIds(blockIds)
                .setLeaseDuration(leaseDuration())
                .build();
        try {
            MatchResponse reply = blocking().match(request);
            return new MatchResult.Matched(reply.getMatchedBlocks(), reply.getDiskBlocks(), reply.getBootEpoch());
        } catch (RuntimeException e) {
            return new MatchResult.Faulted(faults.of("match", e));
        }
    }

    /// Makes room for a put under a lease, which takes it first.
    ///
    /// @return the fault, if there is no room
    public Optional<CacheFault> reserve(String leaseId, long sizeBytes) {
        ReserveRequest request = ReserveRequest.newBuilder()
                .setLeaseId(leaseId)
                .setSizeBytes(sizeBytes)
                .build();
        return attempt("reserve", () -> blocking().reserve(request));
    }

    /// Opens a stream that stores blocks. The stream runs in the caller's context.
    ///
    /// @param leaseId  lease that takes the blocks and tails; empty stores blocks without one
    public PutStream openPut(String leaseId, ByteString namespace, SectionSizes sections) {
        PutStream stream = new PutStream(sections, settings.stallTimeoutMillis(), faults);
        stream.open(
                KvCacheServiceGrpc.newStub(channel)
                        .withDeadlineAfter(settings.putTimeoutMillis(), TimeUnit.MILLISECONDS),
                leaseId,
                holder,
                namespace);
        return stream;
    }

    /// Makes this process a holder of the lease and adds blocks to it. Opens the lease where it does
    /// not stand: then
    /// only blocks of the tree can be pinned, tails are gone.
    public PinResult pin(String leaseId, List<ByteString> blockIds) {
        PinRequest request = PinRequest.newBuilder()
                .setLeaseId(leaseId)
                .setHolder(holder)
                .addAllBlockIds(blockIds)
                .setLeaseDuration(leaseDuration())
                .build();
        try {
            return new PinResult.Pinned(blocking().pin(request).getPinnedBlocks());
        } catch (RuntimeException e) {
            return new PinResult.Faulted(faults.of("pin", e));
        }
    }

    /// Lets the lease stand for another lease time from now.
    ///
    /// @return the fault, if the lease does not stand any more
    public Optional<CacheFault> renew(String leaseId) {
        RenewRequest request = renewRequest(leaseId);
        return attempt("renew", () -> blocking().renew(request));
    }

    /// Renews the lease at a third of its time, again and again, until the returned handle is closed.
    public LeaseKeeper keepAlive(String leaseId) {
        return new LeaseKeeper(timer, settings.leaseMillis(), () -> renewQuietly(leaseId));
    }

    /// Lets go of the lease for this process; it ends when no holder is left. Never blocks, never fails.
    public void release(String leaseId) {
        sendRelease(leaseId, holder);
    }

    /// Ends the lease for all its holders. Never blocks, never fails.
    public void endLease(String leaseId) {
        sendRelease(leaseId, "");
    }

    /// Copies blocks out of the cache, section by section, each checked against its CRC32C.
    public FetchResult fetch(FetchQuery query, SectionSink sink) {
        try {
            return Fetch.run(channel, holder, settings, query, sink);
        } catch (FetchFaultException e) {
            return new FetchResult.Faulted(faults.count("fetch", e.fault()));
        } catch (RuntimeException e) {
            return new FetchResult.Faulted(faults.of("fetch", e));
        }
    }

    /// @throws MillraceException if the cache cannot be asked
    public StatsResponse stats() {
        try {
            return blocking().stats(StatsRequest.getDefaultInstance());
        } catch (RuntimeException e) {
            throw GrpcErrors.fromThrowable(e, Leg.CACHE);
        }
    }

    private Optional<CacheFault> attempt(String operation, Supplier<Object> call) {
        try {
            var _ = call.get();
            return Optional.empty();
        } catch (RuntimeException e) {
            return Optional.of(faults.of(operation, e));
        }
    }

    private void sendRelease(String leaseId, String forHolder) {
        ReleaseRequest request = ReleaseRequest.newBuilder()
                .setLeaseId(leaseId)
                .setHolder(forHolder)
                .build();
        Context.ROOT.run(() -> async().release(request, new Outcome<ReleaseResponse>("release", leaseId)));
    }

    private void renewQuietly(String leaseId) {
        Context.ROOT.run(() -> async().renew(renewRequest(leaseId), new Outcome<RenewResponse>("renew", leaseId)));
    }

    private RenewRequest renewRequest(String leaseId) {
        return RenewRequest.newBuilder()
                .setLeaseId(leaseId)
                .setHolder(holder)
                .setLeaseDuration(leaseDuration())
                .build();
    }

    private KvCacheServiceGrpc.KvCacheServiceBlockingStub blocking() {
        return KvCacheServiceGrpc.newBlockingStub(channel)
                .withDeadlineAfter(settings.callTimeoutMillis(), TimeUnit.MILLISECONDS);
    }

    private KvCacheServiceGrpc.KvCacheServiceStub async() {
        return KvCacheServiceGrpc.newStub(channel)
                .withDeadlineAfter(settings.callTimeoutMillis(), TimeUnit.MILLISECONDS);
    }

    private Duration leaseDuration() {
        long millis = settings.leaseMillis();
        return Duration.newBuilder()
                .setSeconds(millis / 1_000)
                .setNanos((int) (millis % 1_000) * 1_000_000)
                .build();
    }

    /// A failure is worth a line, but in a flood of them, and while the cache is known to be lost: that has been told,
    /// and what this process held there has ended with its Hold stream.
    private void tell(String operation, String leaseId, MillraceException failure) {
        if (failure.code() == ErrorCode.LEASE_EXPIRED || hold.isLost()) {
            return;
        }
        lines.tell(
                unsaid -> log.warn("{} more calls about leases failed, and had no line", unsaid),
                () -> log.warn("{} of lease {} failed: {}", operation, leaseId, failure.getMessage()));
    }

    /// Nobody waits for the answer.
    private final class Outcome<T> implements StreamObserver<T> {
        private final String operation;
        private final String leaseId;

        Outcome(String operation, String leaseId) {
            this.operation = operation;
            this.leaseId = leaseId;
        }

        @Override
        public void onNext(T value) {}

        @Override
        public void onError(Throwable t) {
            tell(operation, leaseId, GrpcErrors.fromThrowable(t, Leg.CACHE));
        }

        @Override
        public void onCompleted() {}
    }
}
