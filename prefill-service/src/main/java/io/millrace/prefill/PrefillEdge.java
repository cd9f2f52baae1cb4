package io.millrace.prefill;

import io.grpc.stub.StreamObserver;
import io.millrace.engine.schedule.EngineLoop;
import io.millrace.proto.v1.DescribeRequest;
import io.millrace.proto.v1.DescribeResponse;
import io.millrace.proto.v1.GenerateRequest;
import io.millrace.proto.v1.PrefillReply;
import io.millrace.proto.v1.PrefillServiceGrpc;
import io.millrace.rpc.generate.ServedInstance;

/// The gRPC edge of prefill. Calls run on virtual threads and may block; exceptions are translated by the
/// interceptor.
final class PrefillEdge extends PrefillServiceGrpc.PrefillServiceImplBase {
    private final ServedInstance served;
    private final EngineLoop loop;
    private final PromptRunner runner;

    PrefillEdge(ServedInstance served, EngineLoop loop, PromptRunner runner) {
        this.served = served;
        this.loop = loop;
        this.runner = runner;
    }

    @Override
    public void prefill(GenerateRequest request, StreamObserver<PrefillReply> reply) {
        reply.onNext(runner.run(request));
        reply.onCompleted();
    }

    @Override
    public void describe(DescribeRequest request, StreamObserver<DescribeResponse> reply) {
        reply.onNext(served.describe(loop));
        reply.onCompleted();
    }
}
