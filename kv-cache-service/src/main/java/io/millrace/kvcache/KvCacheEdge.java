package io.millrace.kvcache;

import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import io.millrace.kvcache.store.BlockStore;
import io.millrace.kvcache.store.FetchPlan;
import io.millrace.kvcache.store.LeaseTerms;
import io.millrace.kvcache.store.StoreMeters;
import io.millrace.kvcache.store.StoreStats;
import io.millrace.proto.v1.EventsRequest;
import io.millrace.proto.v1.EvictRequest;
import io.millrace.proto.v1.EvictResponse;
import io.millrace.proto.v1.FetchRequest;
import io.millrace.proto.v1.FetchResponse;
import io.millrace.proto.v1.HoldRequest;
import io.millrace.proto.v1.HoldResponse;
import io.millrace.proto.v1.KvCacheServiceGrpc;
import io.millrace.proto.v1.KvEvent;
import io.millrace.proto.v1.MatchRequest;
import io.millrace.proto.v1.MatchResponse;
import io.millrace.proto.v1.PinRequest;
import io.millrace.proto.v1.PinResponse;
import io.millrace.proto.v1.PutRequest;
import io.millrace.proto.v1.PutResponse;
import io.millrace.proto.v1.ReleaseRequest;
import io.millrace.proto.v1.ReleaseResponse;
import io.millrace.proto.v1.RenewRequest;
import io.millrace.proto.v1.RenewResponse;
import io.millrace.proto.v1.ReserveRequest;
import io.millrace.proto.v1.ReserveResponse;
import io.millrace.proto.v1.StatsRequest;
import io.millrace.proto.v1.StatsResponse;
import io.millrace.rpc.MetricNames;

/// The store on the wire: checks fields, calls the store, answers. Refusals leave as exceptions, which
/// the server's
/// interceptor translates.
final class KvCacheEdge extends KvCacheServiceGrpc.KvCacheServiceImplBase {
    private final BlockStore store;
    private final RequestFields fields;
    private final OpenStreams streams;
    private final StreamLimit puts;
    private final StreamLimit fetches;
    private final StreamLimit eventReaders;
    private final Counter receivedBytes;
    private final Counter sentBytes;
    private final String bootEpoch;

    KvCacheEdge(
            BlockStore store, KvCacheSettings settings, OpenStreams streams, MeterRegistry registry, String bootEpoch) {
        this.store = store;
        this.fields = new RequestFields(store.limits());
        this.streams = streams;
        this.bootEpoch = bootEpoch;
        StoreMeters meters = new StoreMeters(registry);
        this.puts = new StreamLimit("put_streams", settings.maxStreams(), meters);
        this.fetches = new StreamLimit("fetch_streams", settings.maxStreams(), meters);
        this.eventReaders = new StreamLimit("event_streams", settings.maxEventStreams(), meters);
        this.receivedBytes = registry.counter(MetricNames.KV_CACHE_RECEIVED_BYTES);
        this.sentBytes = registry.counter(MetricNames.KV_CACHE_SENT_BYTES);
        registry.gauge(MetricNames.KV_CACHE_EVENT_STREAMS, eventReaders, StreamLimit::open);
    }

    @Override
    public void match(MatchRequest request, StreamObserver<MatchResponse> responses) {
        LeaseTerms terms = fields.lease(request.getLeaseId(), request.getHolder(), request.getLeaseDuration());
        int matched = store.match(
                terms, RequestFields.namespace(request.getNamespace()), fields.chain(request.getBlockIdsList()));
        answer(
                responses,
                MatchResponse.newBuilder()
                        .setMatchedBlocks(matched)
                        .setBootEpoch(bootEpoch)
                        .build());
    }

    @Override
    public void reserve(ReserveRequest request, StreamObserver<ReserveResponse> responses) {
        store.reserve(fields.name("lease_id", request.getLeaseId()), RequestFields.sizeBytes(request.getSizeBytes()));
        answer(responses, ReserveResponse.getDefaultInstance());
    }

    @Override
    public StreamObserver<PutRequest> put(StreamObserver<PutResponse> responses) {
        puts.acquire();
        return new PutReceiver(store, fields, puts, receivedBytes, responses);
    }

    @Override
    public void pin(PinRequest request, StreamObserver<PinResponse> responses) {
        LeaseTerms terms = fields.lease(request.getLeaseId(), request.getHolder(), request.getLeaseDuration());
        int pinned = store.pin(terms, fields.ids(request.getBlockIdsList()));
        answer(responses, PinResponse.newBuilder().setPinnedBlocks(pinned).build());
    }

    @Override
    public void renew(RenewRequest request, StreamObserver<RenewResponse> responses) {
        store.renew(fields.lease(request.getLeaseId(), request.getHolder(), request.getLeaseDuration()));
        answer(responses, RenewResponse.getDefaultInstance());
    }

    @Override
    public void release(ReleaseRequest request, StreamObserver<ReleaseResponse> responses) {
        store.release(fields.name("lease_id", request.getLeaseId()), request.getHolder());
        answer(responses, ReleaseResponse.getDefaultInstance());
    }

    @Override
    public StreamObserver<HoldRequest> hold(StreamObserver<HoldResponse> responses) {
        return new HoldReceiver(store, fields, streams, bootEpoch, responses);
    }

    @Override
    public void fetch(FetchRequest request, StreamObserver<FetchResponse> responses) {
        FetchPlan plan = store.openFetch(
                fields.name("lease_id", request.getLeaseId()),
                fields.name("holder", request.getHolder()),
                RequestFields.namespace(request.getNamespace()),
                fields.ids(request.getBlockIdsList()));
        fetches.acquire();
        new FetchSender(store, plan, fetches, sentBytes, (ServerCallStreamObserver<FetchResponse>) responses).start();
    }

    @Override
    public void evict(EvictRequest request, StreamObserver<EvictResponse> responses) {
        long evicted = store.evict(RequestFields.sizeBytes(request.getSizeBytes()));
        answer(responses, EvictResponse.newBuilder().setEvictedBytes(evicted).build());
    }

    @Override
    public void events(EventsRequest request, StreamObserver<KvEvent> responses) {
        long start = request.getStartSequence();
        if (start < 0) {
            throw RequestFields.invalid("start_sequence", start + " (expected: 0 or more)");
        }
        eventReaders.acquire();
        new EventSender(store, eventReaders, streams, (ServerCallStreamObserver<KvEvent>) responses, start).start();
    }

    @Override
    public void stats(StatsRequest request, StreamObserver<StatsResponse> responses) {
        StoreStats stats = store.stats();
        answer(
                responses,
                StatsResponse.newBuilder()
                        .setBlocks(stats.blocks())
                        .setUsedBytes(stats.usedBytes())
                        .setCapacityBytes(stats.capacityBytes())
                        .setLeases(stats.leases())
                        .setTailBytes(stats.tailBytes())
                        .setBootEpoch(bootEpoch)
                        .setPinnedBlocks(stats.pinnedBlocks())
                        .build());
    }

    private static <T> void answer(StreamObserver<T> responses, T reply) {
        responses.onNext(reply);
        responses.onCompleted();
    }
}
