package io.millrace.kvcache;

import io.grpc.stub.ServerCallStreamObserver;
import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.kvcache.store.BlockStore;
import io.millrace.kvcache.store.EventBatch;
import io.millrace.kvcache.store.StoreEvent;
import io.millrace.proto.v1.BlockRemoved;
import io.millrace.proto.v1.BlockStored;
import io.millrace.proto.v1.KvEvent;
import io.millrace.rpc.GrpcErrors;
import java.util.List;

/// Sends events to one reader, on a virtual thread of its own, no faster than the reader takes them. A
/// reader that falls
/// behind the buffer gets a new snapshot.
final class EventSender implements Runnable {
    /// Events read from the store at a time.
    private static final int BATCH_EVENTS = 256;
    /// How often a sender that has nothing to send looks whether its reader is still there.
    private static final long LOOK_MILLIS = 250;

    private final BlockStore store;
    private final StreamLimit limit;
    private final OpenStreams streams;
    private final ServerCallStreamObserver<KvEvent> responses;
    private final Runnable ender = this::goAway;
    private long nextNumber;
    private boolean goingAway;

    /// @param limit  acquired for this stream; released at its end
    EventSender(
            BlockStore store,
            StreamLimit limit,
            OpenStreams streams,
            ServerCallStreamObserver<KvEvent> responses,
            long startNumber) {
        this.store = store;
        this.limit = limit;
        this.streams = streams;
        this.responses = responses;
        this.nextNumber = startNumber;
    }

    void start() {
        responses.setOnCancelHandler(this::wake);
        responses.setOnReadyHandler(this::wake);
        streams.add(ender);
        Thread.ofVirtual().name("kv-events").start(this);
    }

    @Override
    public void run() {
        try {
            while (stands()) {
                sendNext();
            }
            if (!responses.isCancelled()) {
                responses.onError(GrpcErrors.toStatus(
                        new MillraceException(ErrorCode.SHUTTING_DOWN, "kv-cache-service is shutting down")));
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            streams.remove(ender);
            limit.release();
        }
    }

    private void sendNext() throws InterruptedException {
        EventBatch batch = store.events(nextNumber, BATCH_EVENTS);
        switch (batch) {
            case EventBatch.Continued continued -> sendAll(continued.firstNumber(), 1, continued.events());
            case EventBatch.Snapshot snapshot -> sendAll(snapshot.number(), 0, snapshot.blocks());
        }
        nextNumber = batch.nextNumber();
        store.awaitEvent(nextNumber, LOOK_MILLIS);
    }

    private void sendAll(long firstNumber, int step, List<? extends StoreEvent> events) throws InterruptedException {
        long number = firstNumber;
        for (StoreEvent event : events) {
            if (!awaitReady()) {
                return;
            }
            responses.onNext(wire(number, event));
            number += step;
        }
    }

    private synchronized boolean awaitReady() throws InterruptedException {
        while (stands() && !responses.isReady()) {
            wait(LOOK_MILLIS);
        }
        return stands();
    }

    private synchronized boolean stands() {
        return !goingAway && !responses.isCancelled();
    }

    private synchronized void wake() {
        notifyAll();
    }

    private synchronized void goAway() {
        goingAway = true;
        notifyAll();
    }

    private static KvEvent wire(long number, StoreEvent event) {
        KvEvent.Builder wire = KvEvent.newBuilder().setSequence(number);
        switch (event) {
            case StoreEvent.Stored stored ->
                wire.setStored(BlockStored.newBuilder().setId(stored.id()).setParentId(stored.parentId()));
            case StoreEvent.Removed removed ->
                wire.setRemoved(BlockRemoved.newBuilder().setId(removed.id()));
        }
        return wire.build();
    }
}
