package io.millrace.kvcache;

import io.grpc.stub.StreamObserver;
import io.micrometer.core.instrument.Counter;
import io.millrace.kvcache.store.BlockStore;
import io.millrace.kvcache.store.PutCounts;
import io.millrace.kvcache.store.PutSession;
import io.millrace.kvcache.store.Section;
import io.millrace.proto.v1.BlockSection;
import io.millrace.proto.v1.PutRequest;
import io.millrace.proto.v1.PutResponse;
import org.jspecify.annotations.Nullable;

/// Takes the frames of one put stream. gRPC hands over one frame after the other and asks the peer for
/// the next only when
/// this one is done.
final class PutReceiver implements StreamObserver<PutRequest> {
    private final BlockStore store;
    private final RequestFields fields;
    private final StreamLimit limit;
    private final Counter receivedBytes;
    private final StreamObserver<PutResponse> responses;
    private @Nullable PutSession session;
    private boolean over;

    /// @param limit  acquired for this stream; released at its end
    PutReceiver(
            BlockStore store,
            RequestFields fields,
            StreamLimit limit,
            Counter receivedBytes,
            StreamObserver<PutResponse> responses) {
        this.store = store;
        this.fields = fields;
        this.limit = limit;
        this.receivedBytes = receivedBytes;
        this.responses = responses;
    }

    @Override
    public void onNext(PutRequest frame) {
        if (over) {
            return;
        }
        boolean taken = false;
        try {
            take(frame);
            taken = true;
        } finally {
            if (!taken) {
                end();
            }
        }
    }

    private void take(PutRequest frame) {
        PutSession open = session;
        switch (frame.getFrameCase()) {
            case HEADER -> {
                if (open != null) {
                    throw RequestFields.invalid("header", "a second one (expected: one, first)");
                }
                session = store.openPut(fields.put(frame.getHeader()));
            }
            case BLOCK -> requireHeader(open).begin(fields.block(frame.getBlock()));
            case SECTION -> {
                BlockSection section = frame.getSection();
                receivedBytes.increment(section.getData().size());
                requireHeader(open)
                        .section(
                                section.getBlockId(),
                                section.getLayer(),
                                new Section(section.getData(), section.getCrc32C()));
            }
            case FRAME_NOT_SET -> throw RequestFields.invalid("frame", "empty (expected: header, block or section)");
        }
    }

    private static PutSession requireHeader(@Nullable PutSession session) {
        if (session == null) {
            throw RequestFields.invalid("header", "absent (expected: first)");
        }
        return session;
    }

    @Override
    public void onError(Throwable t) {
        end();
    }

    @Override
    public void onCompleted() {
        if (over) {
            return;
        }
        PutSession open = session;
        PutCounts counts = open == null ? new PutCounts(0, 0, 0) : open.finish();
        end();
        responses.onNext(PutResponse.newBuilder()
                .setStoredBlocks(counts.stored())
                .setSkippedBlocks(counts.skipped())
                .setRefusedBlocks(counts.refused())
                .build());
        responses.onCompleted();
    }

    private void end() {
        if (over) {
            return;
        }
        over = true;
        limit.release();
        PutSession open = session;
        session = null;
        if (open != null) {
            open.abort();
        }
    }
}
