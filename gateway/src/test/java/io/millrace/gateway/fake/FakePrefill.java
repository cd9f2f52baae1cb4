package io.millrace.gateway.fake;

import com.google.protobuf.ByteString;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import io.millrace.engine.error.MillraceException;
import io.millrace.engine.kv.KvNamespace;
import io.millrace.proto.v1.CachedTokens;
import io.millrace.proto.v1.DescribeRequest;
import io.millrace.proto.v1.DescribeResponse;
import io.millrace.proto.v1.GenerateRequest;
import io.millrace.proto.v1.PrefillReply;
import io.millrace.proto.v1.PrefillServiceGrpc;
import io.millrace.proto.v1.Timings;
import io.millrace.proto.v1.Tokens;
import io.millrace.rpc.GrpcErrors;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;

/// A prefill service that computes nothing: it answers, fails or hangs as it is told.
public final class FakePrefill extends PrefillServiceGrpc.PrefillServiceImplBase {
    private final String name;
    public final List<GenerateRequest> requests = new CopyOnWriteArrayList<>();
    public final Queue<MillraceException> failures = new ConcurrentLinkedQueue<>();
    public final AtomicInteger cancelled = new AtomicInteger();
    public volatile boolean hangs;
    public volatile int cachedTokens;
    public volatile int weights = 1;
    /// Whether it leaves the question who it is without an answer.
    public volatile boolean silent;

    public FakePrefill(String name) {
        this.name = name;
    }

    public void reset() {
        requests.clear();
        failures.clear();
        cancelled.set(0);
        hangs = false;
        cachedTokens = 0;
        weights = 1;
        silent = false;
    }

    @Override
    public void describe(DescribeRequest request, StreamObserver<DescribeResponse> observer) {
        if (silent) {
            return;
        }
        observer.onNext(Instance.describe(name, weights));
        observer.onCompleted();
    }

    @Override
    public void prefill(GenerateRequest request, StreamObserver<PrefillReply> observer) {
        requests.add(request);
        if (observer instanceof ServerCallStreamObserver<PrefillReply> call) {
            call.setOnCancelHandler(cancelled::incrementAndGet);
        }
        MillraceException failure = failures.poll();
        if (failure != null) {
            observer.onError(GrpcErrors.toStatus(failure));
        } else if (!hangs) {
            observer.onNext(reply(request));
            observer.onCompleted();
        }
    }

    private PrefillReply reply(GenerateRequest request) {
        DescribeResponse self = Instance.describe(name, weights);
        byte[] namespace = KvNamespace.compute(
                        self.getWeightsDigest().toByteArray(),
                        self.getAdapterDigest().toByteArray(),
                        new byte[32],
                        self.getNumericsId(),
                        self.getLayoutId())
                .bytes();
        return PrefillReply.newBuilder()
                .setFirstToken(Tokens.newBuilder().addIds(0))
                .setNamespace(ByteString.copyFrom(namespace))
                .setLeaseId(request.getLeaseId())
                .setWeightVersion(7)
                .setCachedTokens(CachedTokens.newBuilder().setMemory(cachedTokens))
                .setTimings(Timings.newBuilder().setPrefill(Instance.millis(12)))
                .setBlocksStored(true)
                .setInstance(name)
                .build();
    }
}
