package io.millrace.engine.quantize;

import io.millrace.engine.checkpoint.CheckpointWriter;
import io.millrace.engine.profile.WeightProfile;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;

/// Quantises a small random model, here or in another JVM.
final class QuantizeRun {
    static final String REACHED = "reached";
    private static final int SEQUENCES = 3;
    private static final int TOKENS = 24;

    private QuantizeRun() {}

    static Path source(Path folder) {
        CheckpointWriter.write(folder, OddConfig.JSON, 1, 11);
        return folder;
    }

    /// Text for the model of [OddConfig].
    static List<TokenSequence> text() {
        Random random = new Random(5);
        boolean[] counted = new boolean[TOKENS];
        Arrays.fill(counted, true);
        return IntStream.range(0, SEQUENCES)
                .mapToObj(i -> new TokenSequence(random.ints(TOKENS, 0, 53).toArray(), counted))
                .toList();
    }

    static QuantizeReport run(Path source, Path target, QuantizeProgress progress) throws IOException {
        QuantizeSettings settings = QuantizeSettings.of(WeightProfile.W4A8).withShards(4000);
        return new ModelQuantizer(source, target, settings, progress).run(text(), text());
    }

    /// Starts [#main] in a JVM of its own.
    ///
    /// @param step  progress it stops at, counted from 1; 0 goes on for ever, making one folder after the
    ///              other
    static Process start(Path source, Path target, int step) throws IOException {
        return new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "@" + Path.of(System.getProperty("millrace.root", ".."), "java.args"),
                        "-cp",
                        System.getProperty("java.class.path"),
                        QuantizeRun.class.getName(),
                        source.toString(),
                        target.toString(),
                        Integer.toString(step))
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
    }

    /// Waits until the other JVM is where it was told to stop, or has made its first folder.
    static boolean reached(Process process) throws IOException {
        BufferedReader output = process.inputReader();
        for (String line = output.readLine(); line != null; line = output.readLine()) {
            if (line.equals(REACHED)) {
                return true;
            }
        }
        return false;
    }

    public static void main(String[] args) throws IOException {
        Path source = Path.of(args[0]);
        Path target = Path.of(args[1]);
        int stop = Integer.parseInt(args[2]);
        if (stop == 0) {
            for (int i = 0; true; i++) {
                run(source, target.resolveSibling(target.getFileName() + "-" + i), QuantizeProgress.SILENT);
                say();
            }
        }
        int[] step = {0};
        run(source, target, (phase, done, total) -> {
            if (++step[0] == stop) {
                say();
                hang();
            }
        });
    }

    private static void say() {
        System.out.println(REACHED);
        System.out.flush();
    }

    private static void hang() {
        while (true) {
            LockSupport.park();
        }
    }
}
