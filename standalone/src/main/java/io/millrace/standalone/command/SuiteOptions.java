package io.millrace.standalone.command;

import io.millrace.engine.settings.ServedName;
import io.millrace.standalone.keys.GivenKey;
import io.millrace.standalone.keys.GivenKeys;
import io.millrace.standalone.keys.KeySources;
import io.millrace.standalone.suite.SuiteSettings;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/// What every command that starts a suite takes: options, and the keys of the services.
@Command(
        footerHeading = "%nSettings of the services:%n",
        footer = {
            // Broken by hand: picocli would break within a key.
            "  --millrace.SECTION.KEY=VALUE, e.g. --millrace.kernels.threads=2 or",
            "  --millrace.kv.pool-tokens=65536: the keys that the services take. They may",
            "  also be given as system properties (-D in MILLRACE_JAVA_OPTS) and as",
            "  environment variables (MILLRACE_KERNELS_THREADS); the command line comes",
            "  first, then system properties, then the environment. Files of settings are",
            "  not read."
        })
public final class SuiteOptions {
    static final String MODEL = "millrace.model.path";
    static final String SERVED_NAME = "millrace.model.served-name";

    private final KeyArguments arguments = new KeyArguments();

    @Mixin
    private ModelOption model = new ModelOption();

    @Option(
            names = "--served-model-name",
            paramLabel = "NAME",
            description = "Model id of the API (default: the folder's name; millrace-mini for the embedded one).")
    private @Nullable String servedModelName;

    @Mixin
    private KernelOptions kernels = new KernelOptions();

    @Mixin
    private FormatOptions formats = new FormatOptions();

    @Option(names = "--verbose", description = "Log what the services do, on standard error.")
    private boolean verbose;

    /// Called by picocli with the command that takes these.
    @Spec(Spec.Target.MIXEE)
    void setCommand(CommandSpec command) {
        command.preprocessor(arguments);
    }

    /// Whether a command has these options, and so takes keys.
    public static boolean areTakenBy(CommandSpec command) {
        return command.preprocessor() instanceof KeyArguments;
    }

    /// What is wrong with a key of the command line whose value stands apart from it.
    public static Optional<String> keyApart(CommandSpec command) {
        return command.preprocessor() instanceof KeyArguments keys ? keys.apart() : Optional.empty();
    }

    boolean verbose() {
        return verbose;
    }

    /// The first option or key that the command line gives.
    Optional<String> given() {
        return Stream.concat(options().values().stream().map(GivenKey::source), arguments.taken().stream())
                .map(said -> said.replaceFirst("=.*", ""))
                .findFirst();
    }

    private Map<String, GivenKey> options() {
        Map<String, GivenKey> options = new LinkedHashMap<>();
        if (model.isGiven()) {
            options.put(MODEL, new GivenKey(model.directory().toString(), "--model"));
        }
        if (servedModelName != null) {
            options.put(SERVED_NAME, new GivenKey(servedModelName, "--served-model-name"));
        }
        options.putAll(kernels.given());
        options.putAll(formats.given());
        return options;
    }

    /// All keys of the suite, and a note about each variable that looks like one and is none.
    ///
    /// @throws IllegalArgumentException  if one is unknown or refused
    GivenKeys keys(Console console) {
        KeySources sources = new KeySources();
        GivenKeys keys = sources.read(options(), arguments.taken(), console.properties(), console.environment());
        for (String variable : sources.unused()) {
            console.note(variable + ": not a setting of a service; it has no effect");
        }
        return keys;
    }

    /// Any free port of the loopback address.
    ///
    /// @throws IllegalArgumentException  if a key is refused
    SuiteSettings settings(GivenKeys keys) {
        Path folder = keys.of(MODEL).map(SuiteOptions::folder).orElseGet(() -> new ModelOption().directory());
        String name = keys.of(SERVED_NAME).map(SuiteOptions::name).orElse(null);
        keys.requireSound();
        return SuiteSettings.of(folder).named(name).with(keys.engine()).withServiceKeys(keys.ofServices());
    }

    private static Path folder(GivenKey given) {
        return Path.of(required(given, "a model folder; without it, it is the embedded one"));
    }

    private static String name(GivenKey given) {
        String name = required(given, "a model id; without it, it is the folder's name");
        ServedName.require(given.source(), name);
        return name;
    }

    private static String required(GivenKey given, String expected) {
        if (given.value().isBlank()) {
            throw new IllegalArgumentException(given.source() + ": \"\" (expected: " + expected + ")");
        }
        return given.value();
    }
}
