package io.millrace.kvcache;

import io.grpc.stub.StreamObserver;
import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.kvcache.store.BlockStore;
import io.millrace.proto.v1.HoldRequest;
import io.millrace.proto.v1.HoldResponse;
import io.millrace.rpc.GrpcErrors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/// One holder's stream: while it stands, the holder lives.
final class HoldReceiver implements StreamObserver<HoldRequest> {
    private static final Logger log = LoggerFactory.getLogger(HoldReceiver.class);

    private final BlockStore store;
    private final RequestFields fields;
    private final OpenStreams streams;
    private final String bootEpoch;
    private final StreamObserver<HoldResponse> responses;
    private final Runnable ender = this::goAway;
    private @Nullable String holder;
    private boolean over;

    HoldReceiver(
            BlockStore store,
            RequestFields fields,
            OpenStreams streams,
            String bootEpoch,
            StreamObserver<HoldResponse> responses) {
        this.store = store;
        this.fields = fields;
        this.streams = streams;
        this.bootEpoch = bootEpoch;
        this.responses = responses;
    }

    /// The first message names the holder; later ones are signs of life and must name the same.
    @Override
    public void onNext(HoldRequest request) {
        // Before the answer: a service that goes down takes no holder any more.
        streams.add(ender);
        synchronized (this) {
            if (over) {
                streams.remove(ender);
                return;
            }
            String name = fields.name("holder", request.getHolder());
            if (holder == null) {
                store.holderConnected(name);
                holder = name;
                log.info("holder {} connected", name);
            } else if (!holder.equals(name)) {
                end();
                throw RequestFields.invalid("holder", "another one than before on this stream");
            }
            responses.onNext(HoldResponse.newBuilder().setBootEpoch(bootEpoch).build());
        }
    }

    @Override
    public void onError(Throwable t) {
        end();
    }

    @Override
    public void onCompleted() {
        synchronized (this) {
            if (!over) {
                end();
                responses.onCompleted();
            }
        }
    }

    /// The service goes down.
    private synchronized void goAway() {
        if (!over) {
            end();
            responses.onError(GrpcErrors.toStatus(
                    new MillraceException(ErrorCode.SHUTTING_DOWN, "kv-cache-service is shutting down")));
        }
    }

    private synchronized void end() {
        if (over) {
            return;
        }
        over = true;
        streams.remove(ender);
        String name = holder;
        if (name != null) {
            store.holderLost(name);
            log.info("holder {} is gone", name);
        }
    }
}
