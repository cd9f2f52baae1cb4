package io.millrace.rpc;

import io.grpc.stub.StreamObserver;
import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.proto.v1.BlockSection;
import io.millrace.proto.v1.FetchRequest;
import io.millrace.proto.v1.FetchResponse;
import io.millrace.proto.v1.HoldRequest;
import io.millrace.proto.v1.HoldResponse;
import io.millrace.proto.v1.KvCacheServiceGrpc;
import io.millrace.proto.v1.MatchRequest;
import io.millrace.proto.v1.MatchResponse;
import io.millrace.proto.v1.RenewRequest;
import io.millrace.proto.v1.RenewResponse;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;

/// A cache that does what a test says.
final class FakeCache extends KvCacheServiceGrpc.KvCacheServiceImplBase {
    final List<StreamObserver<HoldResponse>> holds = new CopyOnWriteArrayList<>();
    final List<FetchResponse> frames = new ArrayList<>();
    final AtomicInteger renewals = new AtomicInteger();

    @Override
    public void match(MatchRequest request, StreamObserver<MatchResponse> responses) {
        switch (request.getLeaseId()) {
            case "silent" -> {}
            case "bug" -> throw new IllegalStateException("secret of the house");
            case "param" ->
                throw MillraceException.ofParam(ErrorCode.INVALID_REQUEST, "namespace", "namespace: 0 bytes");
            default -> {
                responses.onNext(MatchResponse.newBuilder().setMatchedBlocks(1).build());
                responses.onCompleted();
            }
        }
    }

    @Override
    public void renew(RenewRequest request, StreamObserver<RenewResponse> responses) {
        renewals.incrementAndGet();
        responses.onNext(RenewResponse.getDefaultInstance());
        responses.onCompleted();
    }

    @Override
    public StreamObserver<HoldRequest> hold(StreamObserver<HoldResponse> responses) {
        return new StreamObserver<>() {
            @Override
            public void onNext(HoldRequest request) {
                holds.add(responses);
                responses.onNext(HoldResponse.newBuilder()
                        .setBootEpoch("epoch-" + holds.size())
                        .build());
            }

            @Override
            public void onError(Throwable t) {
                holds.remove(responses);
            }

            @Override
            public void onCompleted() {
                holds.remove(responses);
                responses.onCompleted();
            }
        };
    }

    @Override
    public void fetch(FetchRequest request, StreamObserver<FetchResponse> responses) {
        frames.forEach(responses::onNext);
        responses.onCompleted();
    }

    void section(BlockSection section) {
        frames.add(FetchResponse.newBuilder().setSection(section).build());
    }
}
