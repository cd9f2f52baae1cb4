package io.millrace.standalone.command;

import io.millrace.standalone.client.MillraceClient;
import io.millrace.standalone.suite.Suite;
import java.io.IOException;
import java.net.URI;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/// Where a command's questions go: a running suite by its address, else one of its own in this process.
public final class Session {
    /// A suite of its own answers nobody else.
    private static final Duration GRACE = Duration.ofSeconds(1);

    @Spec(Spec.Target.MIXEE)
    private CommandSpec spec = CommandSpec.create();

    @Mixin
    private SuiteOptions options = new SuiteOptions();

    @Option(
            names = "--url",
            paramLabel = "URL",
            description = "Ask the suite that runs there instead of starting one, e.g. http://127.0.0.1:8080.")
    private @Nullable URI url;

    /// Uses a client.
    interface Use {
        int with(MillraceClient client) throws IOException;
    }

    /// Whether the questions go to a suite of their own.
    ///
    /// @throws ParameterException        if the command line names both a running suite and a model
    /// @throws IllegalArgumentException  if nobody can work with an option of that suite
    boolean startsSuite() {
        if (url != null && options.namesModel()) {
            throw new ParameterException(
                    spec.commandLine(),
                    "--url and --model exclude each other (expected: one of them; a running suite has its model)");
        }
        if (url == null) {
            options.settings();
        }
        return url == null;
    }

    /// @return what the use returns
    int run(Use use) throws IOException {
        if (!startsSuite() && url != null) {
            try (MillraceClient client = new MillraceClient(url)) {
                return use.with(client);
            }
        }
        try (Suite suite = SuiteLauncher.launch(options.settings().closingWithin(GRACE), options.verbose())) {
            return ask(suite, use);
        }
    }

    /// A signal in the middle of an answer breaks it; that is the end, not a failure to be told. A suite that
    /// failed is one.
    private static int ask(Suite suite, Use use) throws IOException {
        try (MillraceClient client = new MillraceClient(suite.url())) {
            int status = use.with(client);
            SuiteLauncher.requireSound(suite);
            return status;
        } catch (IOException | RuntimeException e) {
            SuiteLauncher.requireSound(suite);
            if (suite.isClosing()) {
                return ExitCode.OK;
            }
            throw e;
        }
    }
}
