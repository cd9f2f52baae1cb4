package io.millrace.decode;

import io.grpc.Context;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.engine.schedule.EngineLoop;
import io.millrace.proto.v1.DecodeRequest;
import io.millrace.proto.v1.DecodeServiceGrpc;
import io.millrace.proto.v1.DescribeRequest;
import io.millrace.proto.v1.DescribeResponse;
import io.millrace.proto.v1.GenerateEvent;
import io.millrace.rpc.GrpcErrors;
import io.millrace.rpc.generate.ServedInstance;
import java.util.concurrent.Executor;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/// The gRPC edge of decode. A stream is fed by a virtual thread of its own, so that the call's own
/// callbacks (ready, cancelled) keep running.
final class DecodeEdge extends DecodeServiceGrpc.DecodeServiceImplBase {
    private static final Logger log = LoggerFactory.getLogger(DecodeEdge.class);

    private final ServedInstance served;
    private final EngineLoop loop;
    private final SequenceRunner runner;
    private final Executor executor;

    DecodeEdge(ServedInstance served, EngineLoop loop, SequenceRunner runner, Executor executor) {
        this.served = served;
        this.loop = loop;
        this.runner = runner;
        this.executor = executor;
    }

    @Override
    public void generate(DecodeRequest request, StreamObserver<GenerateEvent> reply) {
        EventStream stream = new EventStream((ServerCallStreamObserver<GenerateEvent>) reply);
        executor.execute(Context.current().wrap(() -> run(request, stream)));
    }

    private void run(DecodeRequest request, EventStream stream) {
        try {
            runner.run(request, stream);
            stream.complete();
        } catch (MillraceException e) {
            stream.fail(GrpcErrors.toStatus(e));
        } catch (RuntimeException e) {
            log.error("request {} failed", request.getRequest().getRequestId(), e);
            stream.fail(GrpcErrors.toStatus(
                    new MillraceException(ErrorCode.INTERNAL, "decode failed; the service's log has the cause")));
        }
    }

    @Override
    public void describe(DescribeRequest request, StreamObserver<DescribeResponse> reply) {
        reply.onNext(served.describe(loop));
        reply.onCompleted();
    }
}
