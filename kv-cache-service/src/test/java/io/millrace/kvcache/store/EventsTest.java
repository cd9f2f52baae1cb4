package io.millrace.kvcache.store;

import static io.millrace.kvcache.store.StoreFixture.NAMESPACE;
import static io.millrace.kvcache.store.StoreFixture.id;
import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.kvcache.store.StoreEvent.Removed;
import io.millrace.kvcache.store.StoreEvent.Stored;
import java.util.List;
import org.junit.jupiter.api.Test;

class EventsTest {
    private final StoreFixture fixture = new StoreFixture(3, 4);
    private final BlockStore store = fixture.store;

    @Test
    void zeroGivesASnapshotThenEventsFollowWithoutAGap() {
        fixture.putChain("", "", id(1), id(2));
        EventBatch first = store.events(0, 10);
        assertThat(first)
                .isEqualTo(new EventBatch.Snapshot(
                        1_001, List.of(new Stored(id(1), NAMESPACE), new Stored(id(2), id(1)))));
        store.evict(1);
        fixture.putChain("", "", id(3));
        assertThat(store.events(first.nextNumber(), 10))
                .isEqualTo(new EventBatch.Continued(1_002, List.of(new Removed(id(2)), new Stored(id(3), NAMESPACE))));
        assertThat(store.events(1_003, 10))
                .isEqualTo(new EventBatch.Continued(1_003, List.of(new Stored(id(3), NAMESPACE))));
        assertThat(store.events(1_004, 10)).isEqualTo(new EventBatch.Continued(1_004, List.of()));
    }

    @Test
    void readerThatIsTooFarBehindOrAheadGetsANewSnapshot() {
        for (int i = 0; i < 5; i++) {
            fixture.putChain("", "", id(i));
            store.evict(1);
        }
        fixture.putChain("", "", id(9));
        assertThat(store.events(1_000, 10))
                .isEqualTo(new EventBatch.Snapshot(1_010, List.of(new Stored(id(9), NAMESPACE))));
        assertThat(store.events(1_006, 10)).isInstanceOf(EventBatch.Snapshot.class);
        assertThat(store.events(1_007, 10)).isInstanceOf(EventBatch.Continued.class);
        assertThat(store.events(1_007, 2).nextNumber()).isEqualTo(1_009);
        assertThat(store.events(5_000, 10)).isInstanceOf(EventBatch.Snapshot.class);
    }
}
