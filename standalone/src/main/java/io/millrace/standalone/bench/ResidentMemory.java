package io.millrace.standalone.bench;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.OptionalLong;
import javax.management.JMException;
import javax.management.JMRuntimeException;
import javax.management.ObjectName;

/// Memory of this process that is in RAM, mapped files included, as Linux counts it.
final class ResidentMemory {
    private static final Path STATUS = Path.of("/proc/self/status");
    private static final Path CLEAR = Path.of("/proc/self/clear_refs");
    private static final String PEAK = "VmHWM:";
    private static final long KIB = 1024;

    private ResidentMemory() {}

    /// Starts to look for a new peak, where the system allows it.
    static void resetPeak() {
        try {
            Files.writeString(CLEAR, "5");
        } catch (IOException e) {
            // The peak then counts from the start of the process.
            return;
        }
    }

    /// Gives the system back what the C allocator keeps of memory that was freed, where this JVM can.
    static void trim() {
        try {
            ManagementFactory.getPlatformMBeanServer()
                    .invoke(
                            new ObjectName("com.sun.management:type=DiagnosticCommand"),
                            "systemTrimNativeHeap",
                            new Object[0],
                            new String[0]);
        } catch (JMException | JMRuntimeException e) {
            // That memory then counts, too.
            return;
        }
    }

    /// The peak; empty where the system does not tell.
    static OptionalLong peakBytes() {
        try {
            for (String line : Files.readAllLines(STATUS)) {
                if (line.startsWith(PEAK)) {
                    String number =
                            line.substring(PEAK.length()).replace("kB", "").strip();
                    return OptionalLong.of(Long.parseLong(number) * KIB);
                }
            }
        } catch (IOException e) {
            return OptionalLong.empty();
        }
        return OptionalLong.empty();
    }
}
