package io.millrace.kernels.scalar;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.kernels.ExpertGating;
import org.junit.jupiter.api.Test;

class FeedForwardLoopsTest {
    @Test
    void choosesTheLargestAndPrefersTheLowerIndexInATie() {
        ExpertGating gating = new ExpertGating(6, 3, 1, 1, true, 1);
        assertThat(FeedForwardLoops.choose(gating, new float[] {1, 5, 3, 3, 3, 9}))
                .containsExactly(1, 2, 5);
    }

    @Test
    void ranksGroupsByTheirTwoBestAndDropsTheOthers() {
        ExpertGating gating = new ExpertGating(6, 2, 2, 1, true, 1);
        assertThat(FeedForwardLoops.choose(gating, new float[] {9, 0, 0, 5, 5, 1}))
                .containsExactly(3, 4);
    }

    @Test
    void flushesWhatWouldUnderflow() {
        assertThat(Activations.swiglu(-88, 3)).isZero();
        assertThat(Activations.swiglu(200, 2)).isEqualTo(400f);
        assertThat(Activations.flushedExp(-87.5)).isZero();
        assertThat(Activations.flushedExp(-86.5)).isPositive();
    }
}
