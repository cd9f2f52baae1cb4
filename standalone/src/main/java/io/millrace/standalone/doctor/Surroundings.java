package io.millrace.standalone.doctor;

import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.List;

/// What the doctor looks at; a test alters one thing at a time.
///
/// @param memoryBytes      of the machine or container
/// @param maxHeapBytes     the JVM may use
/// @param temporaryFolder  where the tokenizer's library may have to be unpacked
/// @param javaFeature      e.g. 25
/// @param jvmArguments     flags of this process
public record Surroundings(
        String system,
        boolean littleEndian,
        int processors,
        long memoryBytes,
        long maxHeapBytes,
        Path temporaryFolder,
        int javaFeature,
        String java,
        boolean vectorModule,
        List<String> jvmArguments) {

    /// The running process.
    public static Surroundings ofThisProcess() {
        var machine = ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);
        return new Surroundings(
                System.getProperty("os.name") + " " + System.getProperty("os.arch"),
                ByteOrder.nativeOrder() == ByteOrder.LITTLE_ENDIAN,
                Runtime.getRuntime().availableProcessors(),
                machine.getTotalMemorySize(),
                Runtime.getRuntime().maxMemory(),
                Path.of(System.getProperty("java.io.tmpdir")),
                Runtime.version().feature(),
                Runtime.version() + " in " + System.getProperty("java.home"),
                ModuleLayer.boot().findModule("jdk.incubator.vector").isPresent(),
                ManagementFactory.getRuntimeMXBean().getInputArguments());
    }
}
