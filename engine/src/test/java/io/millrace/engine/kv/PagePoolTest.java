package io.millrace.engine.kv;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assumptions.assumeThat;

import io.millrace.engine.error.MillraceException;
import io.millrace.engine.memory.MemoryLimits;
import io.millrace.kernels.KvFormat;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Test;

class PagePoolTest {
    private static final KvLayout LAYOUT =
            new KvLayout(new KvLayout.Shape(6, 2, 4, 5, new boolean[] {true, true}, true), KvFormat.BF16);

    @Test
    void handsOutEveryPageOnce() {
        try (PagePool pool = PagePool.create(LAYOUT, 5)) {
            Set<Integer> pages = new HashSet<>();
            while (pool.freePages() > 0) {
                pages.add(pool.allocate());
            }
            assertThat(pages).containsExactlyInAnyOrder(0, 1, 2, 3, 4);
            assertThatIllegalStateException().isThrownBy(pool::allocate).withMessageContaining("none of 5");
        }
    }

    @Test
    void freeingTwiceIsAnError() {
        try (PagePool pool = PagePool.create(LAYOUT, 2)) {
            int page = pool.allocate();
            pool.free(page);
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> pool.free(page))
                    .withMessageContaining("KV page: " + page);
            assertThatIllegalArgumentException().isThrownBy(() -> pool.free(2));
            assertThatIllegalArgumentException().isThrownBy(() -> pool.free(-1));
            assertThat(pool.freePages()).isEqualTo(2);
        }
    }

    @Test
    void aReusedPageHoldsNothingOfItsFormerOwner() {
        try (PagePool pool = PagePool.create(LAYOUT, 1)) {
            int page = pool.allocate();
            for (int section = 0; section < LAYOUT.sections(); section++) {
                pool.section(page, section).fill((byte) 0x5a);
            }
            pool.free(page);
            int again = pool.allocate();
            assertThat(again).isEqualTo(page);
            for (int section = 0; section < LAYOUT.sections(); section++) {
                assertThat(pool.section(again, section).toArray(JAVA_BYTE)).containsOnly(0);
            }
        }
    }

    @Test
    void sectionsAreExactAlignedAndOfAllocatedPagesOnly() {
        try (PagePool pool = PagePool.create(LAYOUT, 3)) {
            pool.allocate();
            int page = pool.allocate();
            assertThat(pool.section(page, 1).byteSize()).isEqualTo(LAYOUT.sectionBytes(1));
            assertThat(pool.section(page, 1).address() % 64).isZero();
            assertThat(pool.boundaryState(page).byteSize()).isEqualTo(20);
            pool.free(page);
            assertThatIllegalArgumentException().isThrownBy(() -> pool.section(page, 1));
        }
    }

    @Test
    void morePagesThanTheMachineHasMemoryAreRefusedByTheirKey() {
        assumeThat(MemoryLimits.ofThisProcess()).isPresent();
        KvLayout large = new KvLayout(
                new KvLayout.Shape(512, 64, 128, 6144, new boolean[] {true, true, true}, true), KvFormat.F32);
        assertThatThrownBy(() -> PagePool.create(large, 1 << 24))
                .isInstanceOf(MillraceException.class)
                .hasMessageStartingWith("millrace.kv.pool-tokens: 1073741824 tokens make a KV pool of ")
                .hasMessageContaining(" MiB, beside ")
                .hasMessageEndingWith(" allows)");
    }

    /// One alone would fit.
    @Test
    void poolsThatDoNotFitTogetherAreRefusedByTheirSum() {
        assumeThat(MemoryLimits.ofThisProcess()).isPresent();
        MemoryLimits limits = MemoryLimits.ofThisProcess().orElseThrow();
        int pages = Math.toIntExact((limits.limitBytes() + limits.swapBytes()) * 3 / 4 / LAYOUT.pageBytes());
        PagePool.requireMemory(LAYOUT, pages, "a KV pool", 1);
        assertThatThrownBy(() -> PagePool.requireMemory(LAYOUT, pages, "two KV pools, together", 2))
                .isInstanceOf(MillraceException.class)
                .hasMessageStartingWith(
                        "millrace.kv.pool-tokens: " + 64L * pages + " tokens make two KV pools, together of ")
                .hasMessageEndingWith(" allows)");
    }

    @Test
    void closesTwice() {
        PagePool pool = PagePool.create(LAYOUT, 1);
        pool.close();
        pool.close();
        assertThatIllegalArgumentException().isThrownBy(() -> PagePool.create(LAYOUT, 0));
    }

    @Test
    void countsPartlyFilledPages() {
        assertThat(PagePool.pagesFor(0)).isZero();
        assertThat(PagePool.pagesFor(64)).isEqualTo(1);
        assertThat(PagePool.pagesFor(65)).isEqualTo(2);
    }
}
