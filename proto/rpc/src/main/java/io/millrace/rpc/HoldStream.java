package io.millrace.rpc;

import io.grpc.Channel;
import io.grpc.Context;
import io.grpc.stub.StreamObserver;
import io.millrace.proto.v1.HoldRequest;
import io.millrace.proto.v1.HoldResponse;
import io.millrace.proto.v1.KvCacheServiceGrpc;
import java.util.Optional;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/// The one stream by which the cache sees that this process lives. Opened again when it breaks, after a
/// wait that
/// doubles from try to try and starts over once the cache has answered.
final class HoldStream implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(HoldStream.class);

    private final Channel channel;
    private final String holder;
    private final KvCacheClientSettings settings;
    private final ScheduledExecutorService timer;

    private boolean started;
    private boolean closed;
    private long backoffMillis;
    private @Nullable StreamObserver<HoldRequest> requests;
    private @Nullable String bootEpoch;

    HoldStream(Channel channel, String holder, KvCacheClientSettings settings, ScheduledExecutorService timer) {
        this.channel = channel;
        this.holder = holder;
        this.settings = settings;
        this.timer = timer;
        this.backoffMillis = settings.holdBackoffMillis();
    }

    synchronized void start() {
        if (!started && !closed) {
            started = true;
            open();
        }
    }

    @Override
    public synchronized void close() {
        closed = true;
        bootEpoch = null;
        StreamObserver<HoldRequest> open = requests;
        if (open != null) {
            requests = null;
            open.onCompleted();
        }
    }

    /// Whether it is to stand and does not.
    synchronized boolean isLost() {
        return started && bootEpoch == null;
    }

    synchronized Optional<String> bootEpoch() {
        return Optional.ofNullable(bootEpoch);
    }

    private synchronized void open() {
        if (closed) {
            return;
        }
        // Outside any request's context: the stream outlives them all.
        Context previous = Context.ROOT.attach();
        try {
            StreamObserver<HoldRequest> opened =
                    KvCacheServiceGrpc.newStub(channel).hold(new Responses());
            requests = opened;
            opened.onNext(HoldRequest.newBuilder().setHolder(holder).build());
        } finally {
            Context.ROOT.detach(previous);
        }
    }

    private synchronized void connected(String epoch) {
        if (closed) {
            return;
        }
        if (!epoch.equals(bootEpoch)) {
            log.info("prefix cache connected: holder {}, boot epoch {}", holder, epoch);
        }
        bootEpoch = epoch;
        backoffMillis = settings.holdBackoffMillis();
    }

    private synchronized void broken(String why) {
        if (closed) {
            return;
        }
        if (bootEpoch != null) {
            log.warn("prefix cache lost: {}; leases of holder {} end", why, holder);
        }
        bootEpoch = null;
        requests = null;
        long waitMillis = backoffMillis;
        backoffMillis = Math.min(settings.holdBackoffMaxMillis(), backoffMillis * 2);
        var _ = timer.schedule(this::open, waitMillis, TimeUnit.MILLISECONDS);
    }

    private final class Responses implements StreamObserver<HoldResponse> {
        @Override
        public void onNext(HoldResponse response) {
            connected(response.getBootEpoch());
        }

        @Override
        public void onError(Throwable t) {
            String sentence = GrpcErrors.fromThrowable(t, Leg.CACHE).getMessage();
            broken(sentence == null ? "unknown" : sentence);
        }

        @Override
        public void onCompleted() {
            broken("the cache ended the stream");
        }
    }
}
