package io.millrace.standalone.command;

import io.millrace.standalone.client.MillraceClient;
import io.millrace.standalone.keys.GivenKeys;
import io.millrace.standalone.suite.Suite;
import io.millrace.standalone.suite.SuiteSettings;
import java.io.IOException;
import java.net.URI;
import java.net.URISyntaxException;
import java.time.Duration;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;
import picocli.CommandLine.TypeConversionException;

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
            converter = Address.class,
            description = "Ask the suite that runs there instead of starting one, e.g. http://127.0.0.1:8080.")
    private @Nullable URI url;

    /// Reads the address of a suite.
    static final class Address implements ITypeConverter<URI> {
        @Override
        public URI convert(String value) {
            try {
                URI address = new URI(value);
                if (MillraceClient.isServer(address)) {
                    return address;
                }
            } catch (URISyntaxException e) {
                throw new TypeConversionException(refusal(value));
            }
            throw new TypeConversionException(refusal(value));
        }

        private static String refusal(String value) {
            return "\"" + value + "\" (expected: one like http://127.0.0.1:8080)";
        }
    }

    /// Where the running suite is that was named, if one was: scheme, host and port.
    Optional<String> url() {
        return Optional.ofNullable(url)
                .map(address -> address.resolve("/").toString())
                .map(address -> address.substring(0, address.length() - 1));
    }

    /// Uses a client.
    interface Use {
        int with(MillraceClient client) throws IOException;
    }

    /// Whether the questions go to a suite of their own.
    ///
    /// @throws ParameterException  if the command line names both a running suite and a setting of a new one
    private boolean startsSuite() {
        Optional<String> setting = options.given();
        if (url != null && setting.isPresent()) {
            throw new ParameterException(
                    spec.commandLine(),
                    "--url and " + setting.get() + " exclude each other (expected: one of them; a running suite has"
                            + " its own)");
        }
        return url == null;
    }

    /// @param starting  done before a suite is started, if one is
    /// @return what the use returns
    int run(Console console, Runnable starting, Use use) throws IOException {
        if (!startsSuite() && url != null) {
            try (MillraceClient client = new MillraceClient(url)) {
                return use.with(client);
            }
        }
        GivenKeys keys = options.keys(console);
        SuiteSettings settings = options.settings(keys).closingWithin(GRACE);
        starting.run();
        try (Suite suite = keys.naming(() -> SuiteLauncher.launch(settings, options.verbose(), Suite::close))) {
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
