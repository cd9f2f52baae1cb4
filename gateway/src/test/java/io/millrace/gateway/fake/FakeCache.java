package io.millrace.gateway.fake;

import io.grpc.stub.StreamObserver;
import io.millrace.proto.v1.KvCacheServiceGrpc;
import io.millrace.proto.v1.ReleaseRequest;
import io.millrace.proto.v1.ReleaseResponse;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/// Notes which leases are released.
public final class FakeCache extends KvCacheServiceGrpc.KvCacheServiceImplBase {
    public final List<String> released = new CopyOnWriteArrayList<>();

    @Override
    public void release(ReleaseRequest request, StreamObserver<ReleaseResponse> observer) {
        released.add(request.getLeaseId());
        observer.onNext(ReleaseResponse.getDefaultInstance());
        observer.onCompleted();
    }
}
