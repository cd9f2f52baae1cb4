package io.millrace.standalone.command;

import io.millrace.standalone.keys.GivenKeys;
import io.millrace.standalone.suite.Suite;
import io.millrace.standalone.suite.SuiteSettings;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.ITypeConverter;
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
    private final Console console;

    @Mixin
    private SuiteOptions options = new SuiteOptions();

    @Option(
            names = "--port",
            paramLabel = "N",
            defaultValue = "8080",
            converter = WholeNumbers.Port.class,
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
            converter = Grace.class,
            description = "How long requests under way may go on after Ctrl-C or SIGTERM; what is not complete then"
                    + " gets an error (default: ${DEFAULT-VALUE}).")
    private int shutdownGraceSeconds;

    public UpCommand(Console console) {
        this.console = console;
    }

    @Override
    public Integer call() throws IOException {
        GivenKeys keys = options.keys(console);
        SuiteSettings settings =
                options.settings(keys).at(host, port).closingWithin(Duration.ofSeconds(shutdownGraceSeconds));
        console.note(SuiteLauncher.STARTING);
        try (Suite suite = keys.naming(() -> SuiteLauncher.launch(settings, options.verbose(), this::end))) {
            console.out().println("ready " + suite.url());
            console.out().flush();
            suite.awaitClosed();
            SuiteLauncher.requireSound(suite);
        }
        return ExitCode.OK;
    }

    /// On a signal: says what is waited for, and when it is over. A suite that ends by itself has told why.
    private void end(Suite suite) {
        if (suite.isClosing()) {
            return;
        }
        int left = suite.requestsUnderWay();
        console.note("shutting down: "
                + (left == 0
                        ? "no requests under way"
                        : left + (left == 1 ? " request" : " requests") + " under way may finish within "
                                + shutdownGraceSeconds + " s"));
        suite.close();
        console.note("shut down");
    }

    /// Reads a grace period.
    static final class Grace implements ITypeConverter<Integer> {
        private static final int MAX_SECONDS = 3600;

        @Override
        public Integer convert(String value) {
            return (int) WholeNumbers.read(value, 1, MAX_SECONDS);
        }
    }
}
