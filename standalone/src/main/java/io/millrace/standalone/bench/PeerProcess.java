package io.millrace.standalone.bench;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/// Runs a program that the user has to its end. It works in a temporary folder, where a log that it leaves is gone
/// with the folder, and it ends with this process.
final class PeerProcess {
    private PeerProcess() {}

    /// How it went.
    ///
    /// @param out      what it printed on standard output
    /// @param err      what it printed on standard error
    /// @param failure  what was wrong with its run
    record Output(String out, String err, Optional<String> failure) {
        /// The last line that speaks of an error, or else the last one; empty if it printed nothing.
        String lastWords() {
            String last = "";
            String telling = "";
            for (String line : (out + "\n" + err).lines().map(String::strip).toList()) {
                String lower = line.toLowerCase(Locale.ROOT);
                if (lower.contains("error") || lower.contains("fail")) {
                    telling = line;
                }
                last = line.isEmpty() ? last : line;
            }
            return telling.isEmpty() ? last : telling;
        }
    }

    /// @param limit  of its time
    static Output run(List<String> command, Duration limit) throws IOException {
        try (TemporaryFolder temporary = TemporaryFolder.create()) {
            Path folder = Files.createDirectory(temporary.next());
            Path out = folder.resolve("standard-output");
            Path err = folder.resolve("standard-error");
            Optional<String> failure = run(
                    new ProcessBuilder(command)
                            .directory(folder.toFile())
                            .redirectOutput(out.toFile())
                            .redirectError(err.toFile()),
                    limit);
            return new Output(text(out), text(err), failure);
        }
    }

    private static Optional<String> run(ProcessBuilder builder, Duration limit) throws IOException {
        Process process;
        try {
            process = builder.start();
        } catch (IOException e) {
            return Optional.of("cannot be started: " + e.getMessage());
        }
        Thread atExit = new Thread(() -> end(process), "end-other-benchmark");
        Runtime.getRuntime().addShutdownHook(atExit);
        try {
            process.getOutputStream().close();
            if (!process.waitFor(limit)) {
                return Optional.of("did not end within " + limit.toMinutes()
                        + " min (expected: an end; --peer-minutes gives it more)");
            }
            int exit = process.exitValue();
            return exit == 0 ? Optional.empty() : Optional.of("ended with " + exit + " (expected: 0)");
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw (InterruptedIOException) new InterruptedIOException("interrupted").initCause(e);
        } finally {
            end(process);
            forget(atExit);
        }
    }

    // A script that was named may have started the program.
    private static void end(Process process) {
        process.descendants().forEach(ProcessHandle::destroyForcibly);
        process.destroyForcibly();
    }

    private static void forget(Thread atExit) {
        try {
            Runtime.getRuntime().removeShutdownHook(atExit);
        } catch (IllegalStateException e) {
            // The process ends: the hook runs.
            return;
        }
    }

    private static String text(Path file) throws IOException {
        return Files.exists(file) ? new String(Files.readAllBytes(file), StandardCharsets.UTF_8) : "";
    }
}
