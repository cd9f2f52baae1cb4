package io.millrace.standalone.bench;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.Arena;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;

/// Memory of one model is not counted with the next one's.
@EnabledOnOs(OS.LINUX)
class ResidentMemoryTest {
    private static final int BLOCK = 16 << 10;
    private static final int BLOCKS = 4096;

    @Test
    void freedMemoryThatTheAllocatorKeepsIsGivenBack() {
        try (Arena keeping = Arena.ofConfined()) {
            try (Arena freed = Arena.ofConfined()) {
                for (int i = 0; i < BLOCKS; i++) {
                    freed.allocate(BLOCK).fill((byte) 1);
                }
                // What is behind the freed blocks keeps the allocator from shrinking by itself.
                keeping.allocate(BLOCK);
            }
            long before = current();
            ResidentMemory.trim();
            assertThat(before - current()).isGreaterThan((long) BLOCK * BLOCKS / 2);
        }
    }

    private static long current() {
        ResidentMemory.resetPeak();
        return ResidentMemory.peakBytes().orElseThrow();
    }
}
