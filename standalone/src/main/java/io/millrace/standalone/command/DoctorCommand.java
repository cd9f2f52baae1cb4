package io.millrace.standalone.command;

import io.millrace.engine.settings.KernelSettings;
import io.millrace.standalone.doctor.AskedKernels;
import io.millrace.standalone.doctor.Doctor;
import io.millrace.standalone.doctor.Finding;
import io.millrace.standalone.doctor.Surroundings;
import io.millrace.standalone.keys.GivenKeys;
import java.util.concurrent.Callable;
import java.util.function.Supplier;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/// `millrace doctor`: what stands in the way.
@Command(
        name = "doctor",
        description = {
            "Checks machine, JDK, kernels, model and port. One line each, ok or FAIL and a sentence.",
            "Exits with 1 if a line says FAIL."
        },
        exitCodeList = {"0:every line says ok", "1:a line says FAIL", "2:the command line cannot be understood"})
public final class DoctorCommand implements Callable<Integer> {
    private final Console console;
    private final Supplier<Surroundings> surroundings;

    @Mixin
    private ModelOption model = new ModelOption();

    @Option(
            names = "--port",
            paramLabel = "N",
            defaultValue = "8080",
            converter = WholeNumbers.Port.class,
            description = "Port that is to be free, or Millrace's already (default: ${DEFAULT-VALUE}).")
    private int port;

    @Mixin
    private KernelOptions kernelOptions = new KernelOptions();

    /// @param surroundings  looked at once the command runs
    public DoctorCommand(Console console, Supplier<Surroundings> surroundings) {
        this.console = console;
        this.surroundings = surroundings;
    }

    @Override
    public Integer call() {
        KernelSettings settings = new GivenKeys(kernelOptions.given()).engine().kernels();
        AskedKernels kernels = new AskedKernels(settings.provider(), settings.isaLevel(), settings.threads());
        boolean healthy = true;
        for (Finding finding : new Doctor(surroundings.get()).examine(model.directory(), kernels, port)) {
            console.out().println(finding.line());
            healthy &= finding.ok();
        }
        console.out().flush();
        return healthy ? ExitCode.OK : ExitCode.FAILED;
    }
}
