package io.millrace.rpc.generate;

import com.google.protobuf.ByteString;
import io.grpc.ManagedChannel;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import io.millrace.engine.kv.KvLayout;
import io.millrace.engine.schedule.Reservation;
import io.millrace.proto.v1.CachedTokens;
import io.millrace.rpc.FetchQuery;
import io.millrace.rpc.FetchResult;
import io.millrace.rpc.KvCacheClient;
import io.millrace.rpc.KvCacheClientSettings;
import io.millrace.rpc.MatchResult;
import io.millrace.rpc.MetricNames;
import io.millrace.rpc.PinResult;
import io.millrace.rpc.PutStream;
import io.millrace.rpc.SectionSink;
import io.millrace.rpc.SectionSizes;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/// The prefix cache as an instance uses it: its client, the leases it keeps, and the way of blocks into
/// reservations. A fault of the cache never fails a request; it is counted, logged, and shows as fewer
/// tokens.
public final class SharedCache implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(SharedCache.class);

    private final ManagedChannel channel;
    private final KvCacheClient client;
    private final KvLayout layout;
    private final SectionSizes sections;
    private final HeldLeases leases;
    private final Counter fetchedBytes;
    private final Counter recomputedTokens;
    private final Timer fetchTime;

    /// @param channel   to the cache; owned from now on
    /// @param holder    name of this process among all holders, unique also over restarts
    /// @param layout    what a block consists of
    public SharedCache(
            ManagedChannel channel,
            String holder,
            KvCacheClientSettings settings,
            KvLayout layout,
            MeterRegistry meters) {
        this.channel = channel;
        this.client = new KvCacheClient(channel, holder, settings, meters);
        this.layout = layout;
        int[] sizes = new int[layout.sections()];
        for (int section = 0; section < sizes.length; section++) {
            sizes[section] = layout.sectionBytes(section);
        }
        this.sections = SectionSizes.of(sizes);
        this.leases = new HeldLeases(client);
        this.fetchedBytes = meters.counter(MetricNames.KV_TRANSFER_BYTES);
        this.recomputedTokens = meters.counter(MetricNames.KV_RECOMPUTED_TOKENS);
        this.fetchTime = meters.timer(MetricNames.KV_TRANSFER_TIME);
    }

    /// Prompt tokens found in the cache and now in the reservation.
    ///
    /// @param tokens  whole blocks
    /// @param cached  the same, by tier
    /// @param lease   keeps them and what is put under it; empty when the cache could not be asked
    public record PrefixHit(int tokens, CachedTokens cached, Optional<HeldLeases.Hold> lease) {
        /// No cache, or none that answers.
        public static PrefixHit none() {
            return new PrefixHit(0, CachedTokens.getDefaultInstance(), Optional.empty());
        }
    }

    /// Opens the Hold stream.
    public void start() {
        client.start();
    }

    public HeldLeases leases() {
        return leases;
    }

    /// Matches the chain, opens the lease over what is found, and fetches it.
    ///
    /// @param blockIds  at most the blocks before the last token
    /// @param into      gets the blocks; zeroed again if they do not all arrive whole
    public PrefixHit importPrefix(String leaseId, ByteString namespace, List<ByteString> blockIds, Reservation into) {
        return switch (client.match(leaseId, namespace, blockIds)) {
            case MatchResult.Faulted ignored -> PrefixHit.none();
            case MatchResult.Matched matched -> {
                HeldLeases.Hold lease = leases.keep(leaseId);
                try {
                    yield fetchPrefix(lease, matched, new FetchQuery(leaseId, namespace, blockIds, sections), into);
                } catch (RuntimeException e) {
                    lease.end();
                    throw e;
                }
            }
        };
    }

    private PrefixHit fetchPrefix(
            HeldLeases.Hold lease, MatchResult.Matched matched, FetchQuery chain, Reservation into) {
        int blocks = matched.blocks();
        List<ByteString> found = chain.blockIds().subList(0, blocks);
        var query = new FetchQuery(chain.leaseId(), chain.namespace(), found, sections);
        int tokens = blocks * KvLayout.PAGE_TOKENS;
        if (blocks == 0 || !fetch(query, tokens, into)) {
            return new PrefixHit(0, CachedTokens.getDefaultInstance(), Optional.of(lease));
        }
        int disk = matched.diskBlocks() * KvLayout.PAGE_TOKENS;
        CachedTokens cached =
                CachedTokens.newBuilder().setMemory(tokens - disk).setDisk(disk).build();
        return new PrefixHit(tokens, cached, Optional.of(lease));
    }

    /// Joins a lease that another process has opened. Empty if the cache could not be asked.
    ///
    /// @param blockIds  full blocks under it
    public Optional<HeldLeases.Hold> join(String leaseId, List<ByteString> blockIds) {
        return switch (client.pin(leaseId, blockIds)) {
            case PinResult.Faulted ignored -> Optional.empty();
            case PinResult.Pinned ignored -> Optional.of(leases.keep(leaseId));
        };
    }

    /// Fetches full blocks, and a tail as the last, into a reservation from its first block on.
    ///
    /// @param tokens  tokens they hold
    /// @return whether they all arrived whole; if not, the reservation is zeroed
    public boolean importBlocks(
            String leaseId, ByteString namespace, List<ByteString> blockIds, int tokens, Reservation into) {
        return fetch(new FetchQuery(leaseId, namespace, blockIds, sections), tokens, into);
    }

    private boolean fetch(FetchQuery query, int tokens, Reservation into) {
        long startNanos = System.nanoTime();
        SectionSink sink = (block, section, data) -> {
            if (!layout.isFinite(section, data)) {
                return false;
            }
            into.writeSection(block, section, data);
            return true;
        };
        return switch (client.fetch(query, sink)) {
            case FetchResult.Fetched fetched -> {
                fetchedBytes.increment((double) fetched.sizeBytes());
                fetchTime.record(System.nanoTime() - startNanos, TimeUnit.NANOSECONDS);
                yield true;
            }
            case FetchResult.Faulted faulted -> {
                into.erase();
                recomputedTokens.increment(tokens);
                log.warn(
                        "lease {}: {} tokens are computed again: {}",
                        query.leaseId(),
                        tokens,
                        faulted.fault().message());
                yield false;
            }
        };
    }

    /// Opens a stream that stores blocks under a kept lease.
    public PutStream openPut(HeldLeases.Hold lease, ByteString namespace) {
        return client.openPut(lease.leaseId(), namespace, sections);
    }

    /// Ends a lease that this process may not even hold: the request it was for is over. Does not block.
    public void endLease(String leaseId) {
        client.endLease(leaseId);
    }

    @Override
    public void close() {
        client.close();
        channel.shutdown();
    }
}
