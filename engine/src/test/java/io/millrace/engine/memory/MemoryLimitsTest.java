package io.millrace.engine.memory;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class MemoryLimitsTest {
    private static final long MIB = 1 << 20;

    @TempDir
    private Path root = Path.of("");

    @BeforeEach
    void aMachineOfEightGibibytes() throws IOException {
        write(
                "proc/meminfo",
                "MemTotal:        8388608 kB\nMemFree: 1 kB\nMemAvailable:    6291456 kB\nSwapTotal:  0 kB\n");
        write("proc/self/status", "Name:\tjava\nVmRSS:\t  524288 kB\nRssAnon:\t  204800 kB\n");
    }

    private void write(String name, String text) throws IOException {
        Path file = root.resolve(name);
        Files.createDirectories(file.getParent());
        Files.writeString(file, text);
    }

    private MemoryLimits read() {
        return MemoryLimits.read(root).orElseThrow();
    }

    @Test
    void areThoseOfTheMachineWithoutAGroup() {
        assertThat(read()).isEqualTo(new MemoryLimits(8192 * MIB, "the machine", 0, 6144 * MIB, 200 * MIB));
    }

    @Test
    void areThoseOfTheSmallestGroupAround() throws IOException {
        write("proc/self/cgroup", "0::/pod/container\n");
        write("sys/fs/cgroup/pod/container/memory.max", "max\n");
        assertThat(read().limitBytes()).isEqualTo(8192 * MIB);
        write("sys/fs/cgroup/pod/memory.max", Long.toString(1024 * MIB));
        assertThat(read().limitBytes()).isEqualTo(1024 * MIB);
        assertThat(read().limit()).isEqualTo("the container (" + root.resolve("sys/fs/cgroup/pod/memory.max") + ")");
        write("sys/fs/cgroup/pod/container/memory.max", Long.toString(2048 * MIB));
        assertThat(read().limitBytes()).isEqualTo(1024 * MIB);
    }

    @Test
    void areThoseOfAnOldGroupToo() throws IOException {
        write("proc/self/cgroup", "5:cpu,cpuacct:/docker/1\n4:memory:/docker/1\n0::/\n");
        write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
        assertThat(read().limitBytes()).isEqualTo(8192 * MIB);
        write("sys/fs/cgroup/memory/memory.limit_in_bytes", Long.toString(512 * MIB));
        assertThat(read().limitBytes()).isEqualTo(512 * MIB);
    }

    @Test
    void swapCountsAsFarAsTheGroupMayUseIt() throws IOException {
        write("proc/meminfo", "MemTotal: 8388608 kB\nSwapTotal: 1048576 kB\n");
        assertThat(read().swapBytes()).isEqualTo(1024 * MIB);
        write("proc/self/cgroup", "0::/\n");
        write("sys/fs/cgroup/memory.swap.max", "0\n");
        assertThat(read().swapBytes()).isZero();
    }

    @Test
    void areUnknownWhereTheSystemDoesNotTell() throws IOException {
        Files.delete(root.resolve("proc/meminfo"));
        assertThat(MemoryLimits.read(root)).isEmpty();
    }

    @Test
    void areReadOfThisProcess() {
        if (Files.exists(Path.of("/proc/self/status"))) {
            assertThat(MemoryLimits.ofThisProcess()).hasValueSatisfying(limits -> {
                assertThat(limits.heldBytes()).isBetween(MIB, limits.limitBytes());
                assertThat(limits.availableBytes()).isPositive();
            });
        }
    }

    @Test
    void refuseWhatCanNeverBeHad() {
        var limits = new MemoryLimits(1024 * MIB, "the container (memory.max)", 0, 6144 * MIB, 200 * MIB);
        assertThat(limits.refusal("a KV pool", 824 * MIB)).isEmpty();
        assertThat(limits.refusal("a KV pool", 825 * MIB))
                .contains("a KV pool of 825 MiB, beside 200 MiB that the process holds (expected: no more than the 1024"
                        + " MiB that the container (memory.max) allows)");
        assertThat(new MemoryLimits(1024 * MIB, "x", 100 * MIB, 0, 200 * MIB).refusal("a KV pool", 825 * MIB))
                .isEmpty();
    }

    @Test
    void warnOfWhatIsTight() {
        var limits = new MemoryLimits(1024 * MIB, "the machine", 0, 500 * MIB, 200 * MIB);
        assertThat(limits.warning("a KV pool", 400 * MIB, 300 * MIB, 124 * MIB)).isEmpty();
        String tight = "a KV pool of 400 MiB, 300 MiB of packed weights, 200 MiB that the process holds and 125 MiB"
                + " that its heap may grow by are more than the 1024 MiB that the machine allows: ";
        assertThat(limits.warning("a KV pool", 400 * MIB, 300 * MIB, 125 * MIB))
                .hasValueSatisfying(said -> assertThat(said).startsWith(tight));
        assertThat(limits.warning("a KV pool", 501 * MIB, 0, 0))
                .hasValueSatisfying(said -> assertThat(said).contains("more than the 500 MiB that the machine has"));
    }
}
