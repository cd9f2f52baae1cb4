package io.millrace.gateway.router;

import io.grpc.Context;
import io.grpc.stub.StreamObserver;
import io.millrace.proto.v1.KvCacheServiceGrpc;
import io.millrace.proto.v1.ReleaseRequest;
import io.millrace.proto.v1.ReleaseResponse;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/// Ends leases of requests that decode will not end: those cancelled or failed between prefill and
/// decode. Nobody waits
/// for the answer, as a lease nobody renews ends by itself.
public final class LeaseReleaser implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(LeaseReleaser.class);
    private static final long TIMEOUT_MILLIS = 2000;

    private final List<String> targets;
    private final Map<String, ServingInstance> caches = new ConcurrentHashMap<>();

    /// @param targets  all instances of kv-cache-service; may be empty, then leases run out by themselves
    public LeaseReleaser(List<String> targets) {
        this.targets = List.copyOf(targets);
    }

    /// Ends a lease for all its holders; an unknown one is no error.
    public void release(String leaseId) {
        ReleaseRequest request = ReleaseRequest.newBuilder().setLeaseId(leaseId).build();
        // Not in the context of the request, which is often cancelled by now.
        Context.ROOT.run(() -> {
            for (String target : GrpcTargets.resolve(targets)) {
                ServingInstance cache = caches.computeIfAbsent(target, ServingInstance::new);
                KvCacheServiceGrpc.newStub(cache.channel())
                        .withDeadlineAfter(TIMEOUT_MILLIS, TimeUnit.MILLISECONDS)
                        .release(request, new Ignored(leaseId));
            }
        });
    }

    @Override
    public void close() {
        caches.values().forEach(ServingInstance::close);
        caches.clear();
    }

    private record Ignored(String leaseId) implements StreamObserver<ReleaseResponse> {
        @Override
        public void onNext(ReleaseResponse response) {}

        @Override
        public void onError(Throwable failure) {
            log.debug("lease {} was not released: {}", leaseId, failure.getMessage());
        }

        @Override
        public void onCompleted() {}
    }
}
