package io.millrace.engine.model;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.management.ManagementFactory;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.management.JMException;
import javax.management.ObjectName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/// A step allocates no native memory after warm-up: an arena keeps one clean-up object for each segment
/// it has allocated, and their number in the JVM stays the same.
class StepMemoryTest {
    // " 12:  345  6789  jdk.internal.foreign.SegmentFactories$1": rank, instances, bytes, class
    private static final Pattern CLEAN_UPS =
            Pattern.compile("(?m)^\\s*\\d+:\\s+(\\d+)\\s+\\d+\\s+jdk\\.internal\\.foreign\\.SegmentFactories\\$");
    private static final int WARM_UP = 40;
    private static final int STEPS = 60;

    @ParameterizedTest
    @MethodSource("io.millrace.engine.model.TestModels#providers")
    void aStepAllocatesNoSegment(String provider) throws JMException {
        // Two threads: a worker that gets its first chunk late must find its scratch memory in place.
        try (LoadedModel model = TestModels.load(
                        "glm5-tiny", TestModels.Options.of(provider).withThreads(2));
                ModelRig rig = new ModelRig(model, 4)) {
            ModelRig.Sequence sequence = rig.open(rig.tokens(1, WARM_UP + STEPS));
            rig.step(List.of(sequence), 30);
            while (sequence.computed < WARM_UP) {
                rig.step(List.of(sequence), 1);
            }
            long before = allocatedSegments();
            for (int i = 0; i < STEPS; i++) {
                rig.step(List.of(sequence), 1);
            }
            assertThat(allocatedSegments()).isEqualTo(before);
        }
    }

    @Test
    void theCountSeesASegment() throws JMException {
        long before = allocatedSegments();
        try (Arena arena = Arena.ofShared()) {
            MemorySegment first = arena.allocate(1 << 16);
            MemorySegment second = arena.allocate(1 << 16);
            assertThat(allocatedSegments()).isEqualTo(before + 2);
            assertThat(first.byteSize()).isEqualTo(second.byteSize());
        }
    }

    // Counts live objects: the histogram collects garbage first.
    private static long allocatedSegments() throws JMException {
        String histogram = (String) ManagementFactory.getPlatformMBeanServer()
                .invoke(
                        new ObjectName("com.sun.management:type=DiagnosticCommand"),
                        "gcClassHistogram",
                        new Object[] {new String[0]},
                        new String[] {String[].class.getName()});
        long count = 0;
        Matcher matcher = CLEAN_UPS.matcher(histogram);
        while (matcher.find()) {
            count += Long.parseLong(matcher.group(1));
        }
        return count;
    }
}
