package io.millrace.rpc;

import com.google.protobuf.ByteString;
import io.grpc.Channel;
import io.grpc.Context;
import io.millrace.engine.kv.BlockChecksum;
import io.millrace.proto.v1.BlockSection;
import io.millrace.proto.v1.FetchRequest;
import io.millrace.proto.v1.FetchResponse;
import io.millrace.proto.v1.KvCacheServiceGrpc;
import java.util.Iterator;
import java.util.concurrent.TimeUnit;

/// Reads one fetch stream: sections in the order asked for, then the word that the lease still stood.
final class Fetch {
    private final FetchQuery query;
    private final SectionSink sink;
    private final boolean verifyChecksums;
    private int blockIndex;
    private int section;
    private long sizeBytes;

    private Fetch(FetchQuery query, SectionSink sink, boolean verifyChecksums) {
        this.query = query;
        this.sink = sink;
        this.verifyChecksums = verifyChecksums;
    }

    /// @throws FetchFaultException  the stream is not what was asked for
    /// @throws RuntimeException     of gRPC, or of the sink
    static FetchResult.Fetched run(
            Channel channel, String holder, KvCacheClientSettings settings, FetchQuery query, SectionSink sink) {
        FetchRequest request = FetchRequest.newBuilder()
                .setLeaseId(query.leaseId())
                .setHolder(holder)
                .setNamespace(query.namespace())
                .addAllBlockIds(query.blockIds())
                .build();
        Fetch fetch = new Fetch(query, sink, settings.verifyChecksums());
        // Leaving early, for whatever reason, must end the stream on the cache's side too.
        Context.CancellableContext scope = Context.current().withCancellation();
        Context previous = scope.attach();
        try {
            fetch.read(KvCacheServiceGrpc.newBlockingStub(channel)
                    .withMaxInboundMessageSize(settings.maxMessageBytes())
                    .withDeadlineAfter(settings.fetchTimeoutMillis(), TimeUnit.MILLISECONDS)
                    .fetch(request));
            return new FetchResult.Fetched(query.blockIds().size(), fetch.sizeBytes);
        } finally {
            scope.detach(previous);
            scope.cancel(null);
        }
    }

    private void read(Iterator<FetchResponse> frames) {
        boolean done = false;
        while (frames.hasNext()) {
            FetchResponse frame = frames.next();
            if (done) {
                throw incomplete("a frame follows the end");
            }
            switch (frame.getFrameCase()) {
                case SECTION -> accept(frame.getSection());
                case DONE -> done = true;
                case FRAME_NOT_SET -> throw incomplete("a frame is empty");
            }
        }
        if (!done) {
            throw incomplete("the stream ended before the lease was checked");
        }
        if (blockIndex < query.blockIds().size()) {
            throw incomplete("only " + blockIndex + " of " + query.blockIds().size() + " blocks came");
        }
    }

    private void accept(BlockSection frame) {
        if (blockIndex == query.blockIds().size()) {
            throw incomplete("a section follows the last block");
        }
        ByteString expectedId = query.blockIds().get(blockIndex);
        if (!frame.getBlockId().equals(expectedId) || frame.getLayer() != section) {
            throw incomplete("section " + frame.getLayer() + " came out of order (expected: " + section + " of block "
                    + blockIndex + ")");
        }
        int expectedBytes = query.sections().bytes(section);
        if (frame.getData().size() != expectedBytes) {
            throw incomplete("section " + section + " has " + frame.getData().size() + " bytes (expected: "
                    + expectedBytes + ")");
        }
        byte[] data = frame.getData().toByteArray();
        if (verifyChecksums && BlockChecksum.crc32c(expectedId.toByteArray(), section, data) != frame.getCrc32C()) {
            throw new FetchFaultException(
                    CacheFault.Reason.CHECKSUM_MISMATCH,
                    "section " + section + " of block " + blockIndex + " differs from its checksum");
        }
        if (!sink.tryAccept(blockIndex, section, data)) {
            throw new FetchFaultException(
                    CacheFault.Reason.BROKEN_VALUES,
                    "section " + section + " of block " + blockIndex + " holds values that are not finite numbers");
        }
        sizeBytes += data.length;
        section++;
        if (section == query.sections().count()) {
            section = 0;
            blockIndex++;
        }
    }

    private static FetchFaultException incomplete(String message) {
        return new FetchFaultException(CacheFault.Reason.INCOMPLETE, message);
    }
}
