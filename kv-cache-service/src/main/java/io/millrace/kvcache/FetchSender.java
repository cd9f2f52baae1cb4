package io.millrace.kvcache;

import com.google.protobuf.ByteString;
import io.grpc.stub.ServerCallStreamObserver;
import io.micrometer.core.instrument.Counter;
import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.engine.kv.BlockChecksum;
import io.millrace.engine.kv.KvLayout;
import io.millrace.kvcache.store.BlockStore;
import io.millrace.kvcache.store.FetchPlan;
import io.millrace.kvcache.store.Section;
import io.millrace.kvcache.store.StoredBlock;
import io.millrace.proto.v1.BlockSection;
import io.millrace.proto.v1.FetchDone;
import io.millrace.proto.v1.FetchResponse;
import java.util.HexFormat;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/// Sends the sections of a fetch as fast as the peer takes them, then says whether the lease stood all
/// along. Driven by gRPC's readiness: it never waits and never holds more than one section beyond gRPC's
/// buffer. Its callbacks run one after the other.
///
/// A section that differs from the checksum it arrived with has its block dropped, before the peer can
/// know: so when the peer puts what it computed instead, the damaged block is replaced. What is sent and
/// its checksum stay as they are: to use or to refuse them is the peer's decision.
final class FetchSender {
    private static final Logger log = LoggerFactory.getLogger(FetchSender.class);

    private final BlockStore store;
    private final FetchPlan plan;
    private final StreamLimit limit;
    private final Counter sentBytes;
    private final ServerCallStreamObserver<FetchResponse> responses;
    private int block;
    private int section;
    private boolean over;

    /// @param limit  acquired for this stream; released at its end
    FetchSender(
            BlockStore store,
            FetchPlan plan,
            StreamLimit limit,
            Counter sentBytes,
            ServerCallStreamObserver<FetchResponse> responses) {
        this.store = store;
        this.plan = plan;
        this.limit = limit;
        this.sentBytes = sentBytes;
        this.responses = responses;
    }

    void start() {
        responses.setOnCancelHandler(this::end);
        responses.setOnReadyHandler(this::send);
        send();
    }

    private void send() {
        while (!over && responses.isReady()) {
            if (block < plan.blocks().size()) {
                sendSection();
            } else {
                finish();
            }
        }
    }

    private void sendSection() {
        StoredBlock from = plan.blocks().get(block);
        Section data = from.sections().get(section);
        dropIfDamaged(from, data);
        responses.onNext(FetchResponse.newBuilder()
                .setSection(frame(from.id(), section, data))
                .build());
        sentBytes.increment(data.data().size());
        section++;
        if (section == from.sections().size()) {
            section = 0;
            block++;
        }
    }

    private void dropIfDamaged(StoredBlock from, Section data) {
        int found = BlockChecksum.crc32c(
                from.id().toByteArray(), section, data.data().asReadOnlyByteBuffer());
        if (found != data.crc32c() && store.drop(plan, from)) {
            log.warn(
                    "section {} of block {} in memory differs from its checksum; the block is dropped",
                    section,
                    from.tokens() < KvLayout.PAGE_TOKENS
                            ? from.id().toStringUtf8()
                            : HexFormat.of().formatHex(from.id().toByteArray()));
        }
    }

    private static BlockSection frame(ByteString id, int layer, Section section) {
        return BlockSection.newBuilder()
                .setBlockId(id)
                .setLayer(layer)
                .setData(section.data())
                .setCrc32C(section.crc32c())
                .build();
    }

    private void finish() {
        end();
        if (!store.stillStands(plan)) {
            throw new MillraceException(ErrorCode.LEASE_EXPIRED, "the lease ended during the fetch");
        }
        responses.onNext(FetchResponse.newBuilder()
                .setDone(FetchDone.getDefaultInstance())
                .build());
        responses.onCompleted();
    }

    private void end() {
        if (!over) {
            over = true;
            limit.release();
        }
    }
}
