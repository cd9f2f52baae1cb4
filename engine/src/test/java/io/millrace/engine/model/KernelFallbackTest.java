package io.millrace.engine.model;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.millrace.engine.settings.KernelSettings;
import io.millrace.kernels.nativecode.NativeKernels;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/// Native kernels that a build has and a process cannot load.
class KernelFallbackTest {
    @TempDir
    private Path folder = Path.of("");

    @Test
    void slowerKernelsAreNotTakenSilently() throws IOException, InterruptedException {
        assumeTrue(NativeKernels.declines().isEmpty(), "native kernels are not part of this build");
        Path absent = folder.resolve("absent");
        Process process = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "@" + Path.of(System.getProperty("millrace.root", ".."), "java.args"),
                        "-Djava.io.tmpdir=" + absent,
                        "-cp",
                        System.getProperty("java.class.path"),
                        KernelFallbackTest.class.getName())
                .redirectErrorStream(true)
                .start();
        String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor()).as(said).isZero();
        assertThat(said.lines())
                .filteredOn(line -> line.contains(" WARN ") && line.contains(" kernels vector"))
                .singleElement()
                .asString()
                .contains(", which are slower than those that cannot run")
                .contains("native")
                .contains("cannot be written to " + absent + ": no such folder");
    }

    public static void main(String[] args) {
        LoadedModel.open(KernelSettings.defaults()).close();
    }
}
