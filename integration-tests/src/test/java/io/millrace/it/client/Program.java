package io.millrace.it.client;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/// Runs another program to its end.
public final class Program {
    private Program() {}

    /// How it ended and what it printed, errors included.
    public record Outcome(int exitCode, String output) {}

    /// @param environment  variables beside those of this process
    public static Outcome run(List<String> command, Map<String, String> environment, int timeoutSeconds) {
        Path output = null;
        try {
            output = Files.createTempFile("program", ".out");
            ProcessBuilder builder =
                    new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(output.toFile());
            builder.environment().putAll(environment);
            Process process = builder.start();
            process.getOutputStream().close();
            if (!process.waitFor(timeoutSeconds, TimeUnit.SECONDS)) {
                process.destroyForcibly().waitFor();
                return new Outcome(-1, Files.readString(output) + "\n(ended after " + timeoutSeconds + " s)");
            }
            return new Outcome(process.exitValue(), Files.readString(output));
        } catch (IOException e) {
            return new Outcome(-1, e.toString());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted", e);
        } finally {
            delete(output);
        }
    }

    private static void delete(@org.jspecify.annotations.Nullable Path file) {
        try {
            if (file != null) {
                Files.deleteIfExists(file);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
