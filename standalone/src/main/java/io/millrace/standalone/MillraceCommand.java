package io.millrace.standalone;

import io.millrace.engine.error.MillraceException;
import io.millrace.standalone.command.AnswerOutput;
import io.millrace.standalone.command.BenchCommand;
import io.millrace.standalone.command.ChatCommand;
import io.millrace.standalone.command.Console;
import io.millrace.standalone.command.DemoCommand;
import io.millrace.standalone.command.DoctorCommand;
import io.millrace.standalone.command.ExitCode;
import io.millrace.standalone.command.GenerateCommand;
import io.millrace.standalone.command.HelpCommand;
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
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Supplier;
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
    /// Tells of all others.
    private static final String HELP = "help";

    @Spec
    private CommandSpec spec = CommandSpec.create();

    private MillraceCommand() {}

    public static void main(String[] args) {
        System.exit(commandLine(Console.ofProcess(), args).execute(args));
    }

    /// The command, on the given streams, for these arguments: with the subcommand that they name alone, as picocli
    /// takes its time to look at each; where they name none, with all.
    static CommandLine commandLine(Console console, String... args) {
        Map<String, Supplier<Object>> subcommands = subcommands(console);
        CommandLine line = new CommandLine(new MillraceCommand());
        Supplier<Object> named = args.length == 0 || args[0].equals(HELP) ? null : subcommands.get(args[0]);
        if (named != null) {
            line.addSubcommand(named.get());
        } else {
            subcommands.values().forEach(subcommand -> line.addSubcommand(subcommand.get()));
        }
        line.setOut(new PrintWriter(console.out(), true, StandardCharsets.UTF_8));
        line.setErr(new PrintWriter(console.err(), true, StandardCharsets.UTF_8));
        line.setParameterExceptionHandler(UsageError::explain);
        line.setExecutionStrategy(result -> {
            noteUnread(result, console);
            try {
                return new CommandLine.RunLast().execute(result);
            } catch (AnswerOutput.Failure e) {
                // Of a help text; commands' own failures come by the handler.
                return explainFailure(e, line);
            }
        });
        line.setExecutionExceptionHandler((e, failed, result) -> explainFailure(e, failed));
        return line;
    }

    /// By name, in the order of the help.
    static Map<String, Supplier<Object>> subcommands(Console console) {
        Map<String, Supplier<Object>> subcommands = new LinkedHashMap<>();
        subcommands.put("demo", () -> new DemoCommand(console));
        subcommands.put("up", () -> new UpCommand(console));
        subcommands.put("chat", () -> new ChatCommand(console));
        subcommands.put("generate", () -> new GenerateCommand(console));
        subcommands.put("render", () -> new RenderCommand(console));
        subcommands.put("tokenize", () -> new TokenizeCommand(console));
        subcommands.put("doctor", () -> new DoctorCommand(console, Surroundings::ofThisProcess));
        subcommands.put("verify", () -> new VerifyCommand(console));
        subcommands.put("quantize", () -> new QuantizeCommand(console));
        subcommands.put("synthesize", () -> new SynthesizeCommand(console));
        subcommands.put("bench", () -> new BenchCommand(console));
        subcommands.put(HELP, HelpCommand::new);
        return subcommands;
    }

    /// Keys of services that are set and mean nothing to a command which starts none.
    private static void noteUnread(ParseResult result, Console console) {
        ParseResult command = result.hasSubcommand() ? result.subcommand() : result;
        CommandSpec called = command.commandSpec();
        if (command.isUsageHelpRequested()
                || command.isVersionHelpRequested()
                || called.parent() == null
                || called.helpCommand()
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
            case AnswerOutput.Failure unwritten
            when unwritten.isReaderGone() -> {
                return ExitCode.READER_GONE;
            }
            case AnswerOutput.Failure unwritten -> line.getErr().println("millrace: " + unwritten.getMessage());
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
