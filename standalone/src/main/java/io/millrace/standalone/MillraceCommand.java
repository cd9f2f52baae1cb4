package io.millrace.standalone;

import io.millrace.engine.error.MillraceException;
import io.millrace.standalone.command.BenchCommand;
import io.millrace.standalone.command.ChatCommand;
import io.millrace.standalone.command.Console;
import io.millrace.standalone.command.DemoCommand;
import io.millrace.standalone.command.DoctorCommand;
import io.millrace.standalone.command.ExitCode;
import io.millrace.standalone.command.GenerateCommand;
import io.millrace.standalone.command.QuantizeCommand;
import io.millrace.standalone.command.RenderCommand;
import io.millrace.standalone.command.SuiteOptions;
import io.millrace.standalone.command.SynthesizeCommand;
import io.millrace.standalone.command.TokenizeCommand;
import io.millrace.standalone.command.UpCommand;
import io.millrace.standalone.command.VerifyCommand;
import io.millrace.standalone.doctor.Surroundings;
import io.millrace.standalone.keys.KeySources;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.IVersionProvider;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ParseResult;
import picocli.CommandLine.Spec;

/// The `millrace` command. Each subcommand is a class of its own in [io.millrace.standalone.command].
@Command(
        name = "millrace",
        description = "Serves GLM-5-class language models on the JVM.",
        mixinStandardHelpOptions = true,
        versionProvider = MillraceCommand.Version.class,
        synopsisSubcommandLabel = "COMMAND",
        scope = CommandLine.ScopeType.INHERIT,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {"0:done", "1:failed; a sentence says why", "2:the command line cannot be understood"})
public final class MillraceCommand implements Runnable {
    @Spec
    private CommandSpec spec = CommandSpec.create();

    private MillraceCommand() {}

    public static void main(String[] args) {
        System.exit(commandLine(Console.ofProcess()).execute(args));
    }

    /// The command with all subcommands, on the given streams.
    static CommandLine commandLine(Console console) {
        CommandLine line = new CommandLine(new MillraceCommand())
                .addSubcommand(new DemoCommand(console))
                .addSubcommand(new UpCommand(console))
                .addSubcommand(new ChatCommand(console))
                .addSubcommand(new GenerateCommand(console))
                .addSubcommand(new RenderCommand(console))
                .addSubcommand(new TokenizeCommand(console))
                .addSubcommand(new DoctorCommand(console, Surroundings.ofThisProcess()))
                .addSubcommand(new VerifyCommand(console))
                .addSubcommand(new QuantizeCommand(console))
                .addSubcommand(new SynthesizeCommand(console))
                .addSubcommand(new BenchCommand(console));
        line.setOut(new PrintWriter(console.out(), true, StandardCharsets.UTF_8));
        line.setErr(new PrintWriter(console.err(), true, StandardCharsets.UTF_8));
        line.setParameterExceptionHandler(UsageError::explain);
        line.setExecutionStrategy(result -> {
            noteUnread(result, console);
            return new CommandLine.RunLast().execute(result);
        });
        line.setExecutionExceptionHandler((e, failed, result) -> explainFailure(e, failed));
        return line;
    }

    /// Keys of services that are set and mean nothing to a command which starts none.
    private static void noteUnread(ParseResult result, Console console) {
        ParseResult command = result.hasSubcommand() ? result.subcommand() : result;
        CommandSpec called = command.commandSpec();
        if (command.isUsageHelpRequested()
                || command.isVersionHelpRequested()
                || called.parent() == null
                || SuiteOptions.areTakenBy(called)) {
            return;
        }
        for (String name : KeySources.names(console.properties(), console.environment())) {
            console.note(name + ": no effect on '" + called.qualifiedName() + "', which reads its options alone");
        }
    }

    /// Without a subcommand.
    @Override
    public void run() {
        throw new ParameterException(spec.commandLine(), "no command given");
    }

    /// An argument that nobody can work with is the command line's fault, wherever it is noticed.
    private static int explainFailure(Exception e, CommandLine line) {
        switch (e) {
            case MillraceException expected -> line.getErr().println("millrace: " + expected.getMessage());
            case IllegalArgumentException argument
            when argument.getMessage() != null -> {
                line.getErr().println("millrace: " + argument.getMessage());
                return ExitCode.USAGE;
            }
            case IOException io -> line.getErr().println("millrace: input or output failed: " + io.getMessage());
            default -> e.printStackTrace(line.getErr());
        }
        return ExitCode.FAILED;
    }

    /// Reads the version from the jar.
    static final class Version implements IVersionProvider {
        @Override
        public String[] getVersion() {
            String version = MillraceCommand.class.getPackage().getImplementationVersion();
            return new String[] {"millrace " + (version == null ? "(development build)" : version)};
        }
    }
}
