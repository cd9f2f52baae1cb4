package io.millrace.standalone.command;

import io.millrace.standalone.suite.SuiteSettings;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/// What every command that starts a suite takes.
public final class SuiteOptions {
    @Mixin
    private ModelOption model = new ModelOption();

    @Option(
            names = "--served-model-name",
            paramLabel = "NAME",
            description = "Model id of the API (default: the folder's name; millrace-mini for the embedded one).")
    private @Nullable String servedModelName;

    @Option(
            names = "--provider",
            paramLabel = "NAME",
            defaultValue = "auto",
            description = "Kernel provider: auto, scalar, vector or native (default: ${DEFAULT-VALUE}).")
    private String provider = "auto";

    @Mixin
    private FormatOptions formats = new FormatOptions();

    @Option(names = "--verbose", description = "Log what the services do, on standard error.")
    private boolean verbose;

    /// Whether the command line names a folder.
    boolean namesModel() {
        return model.isGiven();
    }

    boolean verbose() {
        return verbose;
    }

    /// Any free port of the loopback address.
    SuiteSettings settings() {
        return SuiteSettings.of(model.directory()).named(servedModelName).with(formats.engine(provider));
    }
}
