package io.millrace.engine.synthetic;

import io.millrace.engine.profile.WeightProfile;
import io.millrace.engine.settings.KernelSettings;
import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.locks.LockSupport;

/// Writes a model of random weights in another JVM, as far as its first packed tensor.
final class SyntheticRun {
    private SyntheticRun() {}

    static Process start(Path mini, Path target) throws IOException {
        Process process = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "@" + Path.of(System.getProperty("millrace.root", ".."), "java.args"),
                        "-cp",
                        System.getProperty("java.class.path"),
                        SyntheticRun.class.getName(),
                        mini.toString(),
                        target.toString())
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
        while (!"reached".equals(process.inputReader().readLine())) {
            if (!process.isAlive()) {
                throw new IOException("ended with " + process.exitValue() + " (expected: a tensor packed)");
            }
        }
        return process;
    }

    public static void main(String[] args) throws IOException {
        Path mini = Path.of(args[0]);
        new SyntheticModel(mini.resolve("config.json"), WeightProfile.W8A8, mini, KernelSettings.defaults(), 1)
                .write(Path.of(args[1]), (what, done, total) -> {
                    System.out.println("reached");
                    System.out.flush();
                    while (true) {
                        LockSupport.park();
                    }
                });
    }
}
