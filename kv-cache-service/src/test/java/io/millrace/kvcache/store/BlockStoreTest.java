package io.millrace.kvcache.store;

import static io.millrace.kvcache.store.StoreFixture.BLOCK_BYTES;
import static io.millrace.kvcache.store.StoreFixture.NAMESPACE;
import static io.millrace.kvcache.store.StoreFixture.OTHER_NAMESPACE;
import static io.millrace.kvcache.store.StoreFixture.id;
import static io.millrace.kvcache.store.StoreFixture.ids;
import static io.millrace.kvcache.store.StoreFixture.send;
import static io.millrace.kvcache.store.StoreFixture.sendTail;
import static io.millrace.kvcache.store.StoreFixture.terms;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import com.google.protobuf.ByteString;
import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.rpc.MetricNames;
import java.util.List;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

class BlockStoreTest {
    private final StoreFixture fixture = new StoreFixture(4);
    private final BlockStore store = fixture.store;

    @AfterEach
    void storeAgreesWithItself() {
        fixture.checkInvariants();
    }

    @Test
    void matchFindsTheLongestStoredBeginningOfItsOwnNamespace() {
        assertThat(fixture.match("a", "p", id(1), id(2))).isZero();
        fixture.putChain("a", "p", id(1), id(2));
        assertThat(fixture.match("b", "p", id(1), id(2), id(3))).isEqualTo(2);
        assertThat(fixture.match("c", "p", id(1), id(9), id(2))).isEqualTo(1);
        assertThat(fixture.match("d", "p", id(2))).isZero();
        assertThat(store.match(terms("e", "p"), OTHER_NAMESPACE, ids(1, 2))).isZero();
        assertThat(fixture.count(MetricNames.KV_CACHE_MATCHED_BLOCKS)).isEqualTo(3);
    }

    @Test
    void aCapacityThatHoldsNoBlockIsToldOnce() {
        Logger log = (Logger) LoggerFactory.getLogger(Room.class);
        ListAppender<ILoggingEvent> lines = new ListAppender<>();
        lines.start();
        log.addAppender(lines);
        StoreFixture small = new StoreFixture(0.5);
        assertThat(small.putChain("", "", id(1)).stored()).isZero();
        assertThat(small.putChain("", "", id(2)).stored()).isZero();
        fixture.putChain("", "", id(1));
        log.detachAppender(lines);

        assertThat(lines.list)
                .extracting(ILoggingEvent::getFormattedMessage)
                .containsExactly("millrace.kv-cache.capacity-bytes: 8 (expected: at least 16, one block of what is put"
                        + " here); nothing is cached");
    }

    @Test
    void evictsOnlyUnpinnedLeavesLeastRecentlyUsedFirst() {
        fixture.putChain("", "", id(1), id(2));
        fixture.putChain("", "", id(3));
        fixture.match("a", "p", id(3));
        fixture.putChain("", "", id(4));

        assertThat(fixture.putChain("", "", id(5)).stored()).isEqualTo(1);

        assertThat(fixture.has(id(2))).as("the leaf of the oldest chain goes").isFalse();
        assertThat(fixture.has(id(1)))
                .as("its parent is younger than its child's removal")
                .isTrue();
        assertThat(fixture.has(id(3))).as("leased").isTrue();
        assertThat(store.evict(1_000)).isEqualTo(3 * BLOCK_BYTES);
        assertThat(fixture.has(id(3))).isTrue();
    }

    @Test
    void fullOfLeasedBlocksRefusesAndEvictsNothing() {
        fixture.match("a", "p");
        fixture.putChain("a", "p", id(1), id(2), id(3));
        fixture.putChain("", "", id(4));

        PutCounts counts = fixture.putChain("", "", id(10), id(11));

        assertThat(counts).isEqualTo(new PutCounts(1, 1, 1));
        assertThat(fixture.has(id(4))).as("evicted for the first").isFalse();
        assertThat(fixture.has(id(10))).isTrue();
        assertThat(fixture.has(id(11))).as("its room is its own parent's").isFalse();
    }

    @Test
    void duplicatesAreSkippedAndLeased() {
        fixture.putChain("", "", id(1));
        fixture.match("a", "p");
        assertThat(fixture.putChain("a", "p", id(1), id(2))).isEqualTo(new PutCounts(1, 1, 0));
        assertThat(fixture.putChain("a", "p", id(1), id(2))).isEqualTo(new PutCounts(0, 2, 0));
        assertThat(store.stats().pinnedBlocks()).isEqualTo(2);
        assertThat(store.evict(1_000)).isZero();
    }

    @Test
    void blocksInterleavedByLayerBecomeVisibleWhenTheirParentIs() {
        PutSession put = fixture.open("", "");
        put.begin(new BlockTerms(id(1), NAMESPACE, false, 64));
        put.begin(new BlockTerms(id(2), id(1), false, 64));
        put.section(id(2), 0, StoreFixture.section(id(2), 0));
        put.section(id(2), 1, StoreFixture.section(id(2), 1));
        assertThat(fixture.has(id(2))).isFalse();
        put.section(id(1), 1, StoreFixture.section(id(1), 1));
        put.section(id(1), 0, StoreFixture.section(id(1), 0));
        assertThat(fixture.has(id(1))).isTrue();
        assertThat(fixture.has(id(2))).isTrue();
        assertThat(put.finish()).isEqualTo(new PutCounts(2, 0, 0));
    }

    @Test
    void putBrokenMidwayLeavesWhatWasCompleteAndNothingElse() {
        PutSession put = fixture.open("", "");
        send(put, id(1), NAMESPACE);
        put.begin(new BlockTerms(id(2), id(1), false, 64));
        put.section(id(2), 0, StoreFixture.section(id(2), 0));
        assertThat(store.stats().reservedBytes()).isEqualTo(BLOCK_BYTES);
        put.abort();
        put.abort();
        assertThat(fixture.has(id(1))).isTrue();
        assertThat(fixture.has(id(2))).isFalse();
        assertThat(store.stats().reservedBytes()).isZero();
        assertThat(store.stats().pinnedBlocks()).isZero();
    }

    @Test
    void blockWithoutParentIsRefusedWithAllThatFollows() {
        PutSession put = fixture.open("", "");
        send(put, id(8), id(7));
        send(put, id(9), id(8));
        assertThat(put.finish()).isEqualTo(new PutCounts(0, 2, 2));
        assertThat(store.stats().usedBytes()).isZero();
    }

    @Test
    void flippedBitIsRefusedOnArrival() {
        PutSession put = fixture.open("", "");
        put.begin(new BlockTerms(id(1), NAMESPACE, false, 64));
        Section good = StoreFixture.section(id(1), 0);
        byte[] bytes = good.data().toByteArray();
        bytes[3] ^= 4;
        refused(
                ErrorCode.KV_CHECKSUM_MISMATCH,
                () -> put.section(id(1), 0, new Section(ByteString.copyFrom(bytes), good.crc32c())));
        put.abort();
        assertThat(fixture.count(MetricNames.KV_CACHE_CHECKSUM_MISMATCHES)).isEqualTo(1);
        assertThat(store.stats().usedBytes()).isZero();
    }

    @Test
    void malformedPutsAreRefusedByField() {
        PutSession put = fixture.open("", "");
        refused(ErrorCode.INVALID_REQUEST, () -> StoreFixture.sections(put, id(1)));
        put.begin(new BlockTerms(id(1), NAMESPACE, false, 64));
        refused(ErrorCode.INVALID_REQUEST, () -> put.begin(new BlockTerms(id(1), NAMESPACE, false, 64)));
        refused(ErrorCode.INVALID_REQUEST, () -> put.section(id(1), 2, StoreFixture.section(id(1), 1)));
        refused(ErrorCode.INVALID_REQUEST, () -> put.section(id(1), -1, StoreFixture.section(id(1), 1)));
        refused(ErrorCode.INVALID_REQUEST, () -> put.section(id(1), 0, StoreFixture.section(id(1), 1)));
        put.section(id(1), 0, StoreFixture.section(id(1), 0));
        refused(ErrorCode.INVALID_REQUEST, () -> put.section(id(1), 0, StoreFixture.section(id(1), 0)));
        refused(ErrorCode.INVALID_REQUEST, () -> sendTail(put, "a", 0));
        put.abort();
        fixture.putChain("", "", id(1), id(2));
        PutSession other = fixture.open("", "");
        refused(ErrorCode.INVALID_REQUEST, () -> send(other, id(2), NAMESPACE));
        other.abort();
    }

    @Test
    void tailsLiveAndDieWithTheirLeaseAndAreNeverMatched() {
        fixture.match("a", "p");
        PutSession put = fixture.open("a", "p");
        ByteString tail = sendTail(put, "a", 0);
        refused(ErrorCode.INVALID_REQUEST, () -> sendTail(put, "b", 0));
        assertThat(put.finish()).isEqualTo(new PutCounts(1, 0, 0));
        assertThat(store.stats().tailBytes()).isEqualTo(BLOCK_BYTES);
        assertThat(fixture.match("b", "p", tail)).isZero();
        assertThat(store.openFetch("a", "p", NAMESPACE, List.of(tail)).blocks()).hasSize(1);
        refused(ErrorCode.KV_BLOCK_NOT_FOUND, () -> store.openFetch("b", "p", NAMESPACE, List.of(tail)));
        assertThat(store.evict(1_000)).isZero();

        store.release("a", "p");
        assertThat(store.stats().tailBytes()).isZero();
        assertThat(store.stats().usedBytes()).isZero();
    }

    @Test
    void reservationKeepsRoomForItsLeaseOnly() {
        fixture.match("a", "p");
        store.reserve("a", 3 * BLOCK_BYTES);
        assertThat(fixture.putChain("", "", id(1), id(2)).refused()).isEqualTo(1);
        refused(ErrorCode.CACHE_FULL, () -> store.reserve("a", 5 * BLOCK_BYTES));
        assertThat(fixture.putChain("a", "p", id(11), id(12), id(13)).stored()).isEqualTo(3);
        assertThat(store.stats().reservedBytes()).isZero();
        store.reserve("a", BLOCK_BYTES);
        store.release("a", "");
        assertThat(store.stats().reservedBytes()).isZero();
        refused(ErrorCode.LEASE_EXPIRED, () -> store.reserve("a", 1));
    }

    @Test
    void fetchNeedsTheLeaseTheNamespaceAndTheBlocks() {
        fixture.match("a", "p");
        fixture.putChain("a", "p", id(1));
        fixture.putChain("", "", id(2));
        refused(ErrorCode.LEASE_EXPIRED, () -> store.openFetch("nobody", "p", NAMESPACE, ids(1)));
        refused(ErrorCode.LEASE_EXPIRED, () -> store.openFetch("a", "d", NAMESPACE, ids(1)));
        refused(ErrorCode.KV_NAMESPACE_MISMATCH, () -> store.openFetch("a", "p", OTHER_NAMESPACE, ids(1)));
        refused(ErrorCode.KV_BLOCK_NOT_FOUND, () -> store.openFetch("a", "p", NAMESPACE, ids(1, 2)));
        FetchPlan plan = store.openFetch("a", "p", NAMESPACE, ids(1));
        assertThat(plan.blocks().getFirst().sections().getFirst()).isEqualTo(StoreFixture.section(id(1), 0));
        assertThat(store.stillStands(plan)).isTrue();
        store.release("a", "");
        assertThat(store.stillStands(plan)).isFalse();
        fixture.match("a", "p", id(1));
        assertThat(store.stillStands(plan))
                .as("a new lease of that name is another")
                .isFalse();
    }

    @Test
    void hookFlipsABitThatNoChecksumShows() {
        fixture.match("a", "p");
        PutSession put = fixture.open("a", "p");
        send(put, id(1), NAMESPACE);
        ByteString tail = sendTail(put, "a", 0);
        put.finish();
        assertThat(store.flipBit(id(1), 1, 5, true)).isTrue();
        assertThat(store.flipBit(tail, 0, 0, true)).isTrue();
        assertThat(store.flipBit(id(3), 0, 0, true)).isFalse();
        StoredBlock block =
                store.openFetch("a", "p", NAMESPACE, ids(1)).blocks().getFirst();
        assertThat(block.sections().get(0)).isEqualTo(StoreFixture.section(id(1), 0));
        Section flipped = block.sections().get(1);
        assertThat(flipped.data().byteAt(5))
                .isEqualTo((byte) (StoreFixture.section(id(1), 1).data().byteAt(5) ^ 1));
        assertThat(flipped.crc32c()).isNotEqualTo(StoreFixture.section(id(1), 1).crc32c());
    }

    @Test
    void damagedBlockIsOutOfSightWithItsDescendantsUntilItIsPutAgain() {
        fixture.match("a", "p");
        fixture.putChain("a", "p", id(1), id(2), id(3));
        assertThat(store.flipBit(id(2), 0, 0, false)).isTrue();
        FetchPlan plan = store.openFetch("a", "p", NAMESPACE, ids(2));
        StoredBlock damaged = plan.blocks().getFirst();
        long next = store.events(0, 100).nextNumber();

        assertThat(store.drop(plan, damaged)).isTrue();
        assertThat(store.drop(plan, damaged)).as("known already").isFalse();

        assertThat(fixture.match("b", "p", id(1), id(2), id(3))).isEqualTo(1);
        refused(ErrorCode.KV_BLOCK_NOT_FOUND, () -> store.openFetch("a", "p", NAMESPACE, ids(2)));
        assertThat(store.pin(terms("b", "p"), ids(1, 2))).isEqualTo(1);
        assertThat(events(next)).containsExactly(new StoreEvent.Removed(id(3)), new StoreEvent.Removed(id(2)));
        assertThat(store.events(0, 100))
                .isInstanceOfSatisfying(
                        EventBatch.Snapshot.class,
                        all -> assertThat(all.blocks()).containsExactly(new StoreEvent.Stored(id(1), NAMESPACE)));
        assertThat(fixture.count(MetricNames.KV_CACHE_DAMAGED_BLOCKS)).isEqualTo(1);
        next = store.events(0, 100).nextNumber();

        assertThat(fixture.putChain("a", "p", id(1), id(2), id(3))).isEqualTo(new PutCounts(1, 2, 0));

        assertThat(fixture.match("c", "p", id(1), id(2), id(3))).isEqualTo(3);
        assertThat(store.openFetch("c", "p", NAMESPACE, ids(2))
                        .blocks()
                        .getFirst()
                        .sections())
                .containsExactly(StoreFixture.section(id(2), 0), StoreFixture.section(id(2), 1));
        assertThat(events(next))
                .containsExactly(new StoreEvent.Stored(id(2), id(1)), new StoreEvent.Stored(id(3), id(2)));
        assertThat(store.drop(plan, damaged)).as("replaced since").isFalse();
        assertThat(fixture.match("d", "p", id(1), id(2), id(3))).isEqualTo(3);
    }

    private List<StoreEvent> events(long from) {
        return switch (store.events(from, 100)) {
            case EventBatch.Continued continued -> continued.events();
            case EventBatch.Snapshot snapshot -> List.copyOf(snapshot.blocks());
        };
    }

    @Test
    void blockPutBelowADamagedOneWaitsOutOfSight() {
        fixture.match("a", "p");
        fixture.putChain("a", "p", id(1), id(2));
        for (int id : new int[] {1, 2}) {
            store.flipBit(id(id), 1, 0, false);
            FetchPlan plan = store.openFetch("a", "p", NAMESPACE, ids(id));
            assertThat(store.drop(plan, plan.blocks().getFirst())).isTrue();
        }
        PutSession put = fixture.open("", "");
        send(put, id(3), id(2));
        assertThat(put.finish().stored()).isEqualTo(1);
        assertThat(fixture.match("b", "p", id(1), id(2), id(3))).isZero();

        fixture.putChain("", "", id(1));
        assertThat(fixture.match("b", "p", id(1), id(2), id(3))).isEqualTo(1);
        fixture.putChain("", "", id(1), id(2));
        assertThat(fixture.match("b", "p", id(1), id(2), id(3))).isEqualTo(3);
    }

    @Test
    void damagedBlocksAreEvictedLikeOthersWithoutASecondEvent() {
        fixture.match("a", "p");
        fixture.putChain("a", "p", id(1), id(2));
        store.flipBit(id(1), 1, 0, false);
        FetchPlan plan = store.openFetch("a", "p", NAMESPACE, ids(1));
        store.drop(plan, plan.blocks().getFirst());
        assertThat(store.evict(1_000)).as("leased").isZero();
        long next = store.events(0, 100).nextNumber();
        store.release("a", "");
        assertThat(store.evict(1_000)).isEqualTo(2 * BLOCK_BYTES);
        assertThat(store.events(next, 100).nextNumber()).isEqualTo(next);
        assertThat(fixture.putChain("", "", id(1), id(2)).stored()).isEqualTo(2);
    }

    @Test
    void damagedTailGoesAtOnce() {
        fixture.match("a", "p");
        PutSession put = fixture.open("a", "p");
        ByteString tail = sendTail(put, "a", 0);
        put.finish();
        store.flipBit(tail, 0, 0, false);
        FetchPlan plan = store.openFetch("a", "p", NAMESPACE, List.of(tail));
        assertThat(store.drop(plan, plan.blocks().getFirst())).isTrue();
        assertThat(store.stats().tailBytes()).isZero();
        refused(ErrorCode.KV_BLOCK_NOT_FOUND, () -> store.openFetch("a", "p", NAMESPACE, List.of(tail)));
    }

    private static void refused(ErrorCode code, ThrowingCallable call) {
        assertThatThrownBy(call)
                .isInstanceOfSatisfying(
                        MillraceException.class, e -> assertThat(e.code()).isEqualTo(code));
    }
}
