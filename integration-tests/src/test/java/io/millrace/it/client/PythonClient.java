package io.millrace.it.client;

import io.millrace.it.process.ServiceProcess;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Assumptions;

/// A Python with the public `openai` package, in a virtual environment below `target/`. Where it cannot be
/// made, tests that want it are skipped, and say so.
public final class PythonClient {
    private static final String PACKAGE = "openai";
    private static final int INSTALL_SECONDS = 240;

    private PythonClient() {}

    /// The interpreter; makes the environment the first time.
    public static Path interpreter() {
        Path environment = ServiceProcess.root().resolve("integration-tests/target/python");
        Path interpreter = environment.resolve("bin/python");
        Path complete = environment.resolve("complete");
        if (Files.exists(complete)) {
            return interpreter;
        }
        require(Program.run(List.of("python3", "-m", "venv", environment.toString()), Map.of(), INSTALL_SECONDS));
        // An index that is away is asked about each package, and each time as often as pip may try: where a mirror
        // has them all, that is two minutes of waiting. What was fetched before a break of the network is in pip's
        // cache.
        Program.Outcome installed = install(interpreter, "--retries", "1");
        require(installed.exitCode() == 0 ? installed : install(interpreter));
        try {
            Files.createFile(complete);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return interpreter;
    }

    private static Program.Outcome install(Path interpreter, String... options) {
        List<String> command =
                new ArrayList<>(List.of(interpreter.toString(), "-m", "pip", "install", "--quiet", PACKAGE));
        command.addAll(List.of(options));
        return Program.run(command, Map.of("PIP_DISABLE_PIP_VERSION_CHECK", "1"), INSTALL_SECONDS);
    }

    private static void require(Program.Outcome outcome) {
        if (outcome.exitCode() != 0) {
            String reason = "SKIPPED: the Python package `" + PACKAGE + "` cannot be installed here: "
                    + outcome.output().strip();
            System.err.println(reason);
            Assumptions.abort(reason);
        }
    }
}
