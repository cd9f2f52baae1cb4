package io.millrace.kvcache.store;

import static io.millrace.kvcache.store.StoreFixture.id;
import static io.millrace.kvcache.store.StoreFixture.ids;
import static io.millrace.kvcache.store.StoreFixture.send;
import static io.millrace.kvcache.store.StoreFixture.terms;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.rpc.MetricNames;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class LeaseTest {
    private final StoreFixture fixture = new StoreFixture(8);
    private final BlockStore store = fixture.store;

    @AfterEach
    void storeAgreesWithItself() {
        fixture.checkInvariants();
    }

    @Test
    void endsThirtySecondsAfterTheLastRenewal() {
        fixture.match("a", "p");
        fixture.putChain("a", "p", id(1));
        fixture.clock.advanceMillis(29_999);
        store.renew(terms("a", "p"));
        fixture.clock.advanceMillis(29_999);
        assertThat(store.leases()).hasSize(1);
        assertThat(store.leases().getFirst().expiresInMillis()).isEqualTo(1);
        fixture.clock.advanceMillis(1);
        store.expireLeases();
        assertThat(store.leases()).isEmpty();
        assertThat(store.stats().pinnedBlocks()).isZero();
        assertThat(fixture.count(MetricNames.KV_CACHE_LEASES_ENDED, "reason", "expired"))
                .isEqualTo(1);
        refused(ErrorCode.LEASE_EXPIRED, () -> store.renew(terms("a", "p")));
        refused(ErrorCode.LEASE_EXPIRED, () -> fixture.open("a", "p"));
    }

    @Test
    void eachRunsOutAtItsOwnTime() {
        store.match(new LeaseTerms("short", "p", 1_000_000), StoreFixture.NAMESPACE, ids());
        fixture.match("long", "p");
        store.match(new LeaseTerms("middle", "p", 5_000_000), StoreFixture.NAMESPACE, ids());
        fixture.clock.advanceMillis(1);
        assertThat(names()).containsExactly("long", "middle");
        fixture.clock.advanceMillis(4);
        assertThat(names()).containsExactly("long");
    }

    @Test
    void expiryDuringAPutFailsItAndDuringAFetchIsSeenAtTheEnd() {
        fixture.match("a", "p");
        PutSession put = fixture.open("a", "p");
        send(put, id(1), StoreFixture.NAMESPACE);
        FetchPlan plan = store.openFetch("a", "p", StoreFixture.NAMESPACE, ids(1));
        put.begin(new BlockTerms(id(2), id(1), false, 64));
        fixture.clock.advanceMillis(30_000);
        refused(ErrorCode.LEASE_EXPIRED, () -> StoreFixture.sections(put, id(2)));
        put.abort();
        assertThat(store.stillStands(plan)).isFalse();
        assertThat(fixture.has(id(2))).isFalse();
        assertThat(store.stats().reservedBytes()).isZero();
    }

    @Test
    void handOverKeepsTheLeaseUntilItsLastHolderLetsGo() {
        fixture.match("a", "prefill");
        fixture.putChain("a", "prefill", id(1));
        assertThat(store.pin(terms("a", "decode"), ids(1, 2))).isEqualTo(1);
        store.release("a", "prefill");
        assertThat(store.leases().getFirst().holders()).containsExactly("decode");
        store.release("a", "stranger");
        assertThat(names()).containsExactly("a");
        store.release("a", "decode");
        assertThat(store.leases()).isEmpty();
        store.release("a", "decode");
        store.release("never", "");
    }

    @Test
    void brokenHoldStreamEndsLeasesThatHaveNoOtherHolder() {
        store.holderConnected("prefill");
        store.holderConnected("decode");
        fixture.match("shared", "prefill");
        store.renew(terms("shared", "decode"));
        fixture.match("own", "prefill");
        store.holderLost("prefill");
        assertThat(names()).containsExactly("shared");
        store.holderLost("decode");
        assertThat(store.leases()).isEmpty();
        assertThat(fixture.count(MetricNames.KV_CACHE_LEASES_ENDED, "reason", "holder_lost"))
                .isEqualTo(2);
        assertThat(store.stats().holders()).isZero();
    }

    @Test
    void holderThatCameBackBeforeItsOldStreamBrokeKeepsItsLeases() {
        store.holderConnected("p");
        fixture.match("a", "p");
        store.holderConnected("p");
        store.holderLost("p");
        assertThat(names()).containsExactly("a");
        store.holderLost("p");
        assertThat(store.leases()).isEmpty();
    }

    @Test
    void goingDownBrokenStreamsEndNoLease() {
        store.holderConnected("p");
        fixture.match("a", "p");
        store.drain();
        store.holderLost("p");
        assertThat(names()).containsExactly("a");
    }

    @Test
    void limitsAreKeptAndCounted() {
        for (int i = 0; i < 100; i++) {
            fixture.match("lease-" + i, "p");
        }
        refused(ErrorCode.CACHE_FULL, () -> fixture.match("one more", "p"));
        fixture.match("lease-0", "q");
        fixture.match("lease-0", "r");
        refused(ErrorCode.CACHE_FULL, () -> fixture.match("lease-0", "s"));
        for (int i = 0; i < 50; i++) {
            store.holderConnected("holder-" + i);
        }
        refused(ErrorCode.CACHE_FULL, () -> store.holderConnected("one more"));
        assertThat(fixture.count(MetricNames.KV_CACHE_LIMIT_REFUSALS)).isEqualTo(3);
    }

    private Iterable<String> names() {
        return store.leases().stream().map(LeaseView::id).toList();
    }

    private static void refused(ErrorCode code, ThrowingCallable call) {
        assertThatThrownBy(call)
                .isInstanceOfSatisfying(
                        MillraceException.class, e -> assertThat(e.code()).isEqualTo(code));
    }
}
