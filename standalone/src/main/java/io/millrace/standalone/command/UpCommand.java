package io.millrace.standalone.command;

import io.millrace.standalone.suite.Suite;
import io.millrace.standalone.suite.SuiteSettings;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/// `millrace up`: serves until told to end.
@Command(
        name = "up",
        description = {
            "Starts gateway, prefill, decode and kv-cache in this process and serves REST.",
            "Prints one line, ready http://HOST:PORT, when it has answered a first request; ends on Ctrl-C (exit"
                    + " code 130) and SIGTERM (143)."
        },
        exitCodeList = {
            "1:failed; a sentence says why",
            "2:the command line cannot be understood",
            "130:ended by Ctrl-C",
            "143:ended by SIGTERM"
        })
public final class UpCommand implements Callable<Integer> {
    private static final int MAX_GRACE_SECONDS = 3600;

    private final Console console;

    @Mixin
    private SuiteOptions options = new SuiteOptions();

    @Option(
            names = "--port",
            paramLabel = "N",
            defaultValue = "8080",
            description = "Port of the REST surface, 0 for any free one (default: ${DEFAULT-VALUE}).")
    private int port;

    @Option(
            names = "--host",
            paramLabel = "ADDRESS",
            defaultValue = SuiteSettings.LOOPBACK,
            description = "Address to listen on; 0.0.0.0 for all (default: ${DEFAULT-VALUE}).")
    private String host = SuiteSettings.LOOPBACK;

    @Option(
            names = "--shutdown-grace",
            paramLabel = "SECONDS",
            defaultValue = "5",
            description = "How long requests under way may go on after Ctrl-C or SIGTERM; what is not complete then"
                    + " gets an error (default: ${DEFAULT-VALUE}).")
    private int shutdownGraceSeconds;

    public UpCommand(Console console) {
        this.console = console;
    }

    @Override
    public Integer call() throws IOException {
        if (shutdownGraceSeconds < 1 || shutdownGraceSeconds > MAX_GRACE_SECONDS) {
            throw new IllegalArgumentException(
                    "--shutdown-grace: " + shutdownGraceSeconds + " (expected: 1.." + MAX_GRACE_SECONDS + ")");
        }
        SuiteSettings settings =
                options.settings().at(host, port).closingWithin(Duration.ofSeconds(shutdownGraceSeconds));
        console.note(SuiteLauncher.STARTING);
        try (Suite suite = SuiteLauncher.launch(settings, options.verbose())) {
            console.out().println("ready " + suite.url());
            console.out().flush();
            suite.awaitClosed();
            SuiteLauncher.requireSound(suite);
        }
        return ExitCode.OK;
    }
}
