package io.millrace.rpc;

import io.grpc.ForwardingServerCall.SimpleForwardingServerCall;
import io.grpc.ForwardingServerCallListener.SimpleForwardingServerCallListener;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCall.Listener;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.Status;
import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import java.util.concurrent.atomic.AtomicBoolean;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/// Ends a call with the right status whatever way a service fails: an exception that escapes a handler,
/// or one given
/// to `onError`. A [MillraceException] keeps its code and sentence. Anything else is a fault of ours:
/// it is logged
/// once, with its cause, and the caller learns only that the call failed.
public final class GrpcErrorInterceptor implements ServerInterceptor {
    private static final Logger log = LoggerFactory.getLogger(GrpcErrorInterceptor.class);

    @Override
    public <Q, R> Listener<Q> interceptCall(ServerCall<Q, R> call, Metadata headers, ServerCallHandler<Q, R> next) {
        TranslatingCall<Q, R> translating = new TranslatingCall<>(call);
        try {
            return new GuardedListener<>(next.startCall(translating, headers), translating);
        } catch (RuntimeException e) {
            translating.fail(e);
            return new Listener<>() {};
        }
    }

    /// Closes at most once, with a translated status.
    private static final class TranslatingCall<Q, R> extends SimpleForwardingServerCall<Q, R> {
        private final AtomicBoolean closed = new AtomicBoolean();

        TranslatingCall(ServerCall<Q, R> call) {
            super(call);
        }

        @Override
        public void close(Status status, Metadata trailers) {
            if (!closed.compareAndSet(false, true)) {
                return;
            }
            Throwable cause = status.getCause();
            if (status.isOk() || cause == null) {
                super.close(status, trailers);
            } else if (cause instanceof MillraceException known) {
                super.close(GrpcErrors.status(known), GrpcErrors.trailers(known));
            } else if (status.getCode() == Status.Code.UNKNOWN) {
                MillraceException internal = internal(cause);
                super.close(GrpcErrors.status(internal), GrpcErrors.trailers(internal));
            } else {
                super.close(status, trailers);
            }
        }

        void fail(RuntimeException e) {
            close(Status.fromThrowable(e), new Metadata());
        }

        private MillraceException internal(Throwable cause) {
            String method = getMethodDescriptor().getFullMethodName();
            log.error("{} failed", method, cause);
            return new MillraceException(ErrorCode.INTERNAL, method + " failed; the service's log has the cause");
        }
    }

    private static final class GuardedListener<Q, R> extends SimpleForwardingServerCallListener<Q> {
        private final TranslatingCall<Q, R> call;

        GuardedListener(Listener<Q> delegate, TranslatingCall<Q, R> call) {
            super(delegate);
            this.call = call;
        }

        @Override
        public void onMessage(Q message) {
            guard(() -> super.onMessage(message));
        }

        @Override
        public void onHalfClose() {
            guard(super::onHalfClose);
        }

        @Override
        public void onReady() {
            guard(super::onReady);
        }

        @Override
        public void onCancel() {
            guard(super::onCancel);
        }

        @Override
        public void onComplete() {
            guard(super::onComplete);
        }

        private void guard(Runnable event) {
            try {
                event.run();
            } catch (RuntimeException e) {
                call.fail(e);
            }
        }
    }
}
