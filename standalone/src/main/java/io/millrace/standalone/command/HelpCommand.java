package io.millrace.standalone.command;

import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;
import picocli.CommandLine.UnmatchedArgumentException;

/// `millrace help`: the same as `--help`, and `millrace help COMMAND` as `millrace COMMAND --help`.
@Command(name = "help", helpCommand = true, description = "Explains the command that is named; without one, lists all.")
public final class HelpCommand implements Runnable {
    @Spec
    private CommandSpec spec = CommandSpec.create();

    @Parameters(arity = "0..1", paramLabel = "COMMAND", description = "The command to explain.")
    private @Nullable String command;

    @Override
    public void run() {
        CommandLine all = Optional.ofNullable(spec.parent()).orElse(spec).commandLine();
        CommandLine asked = command == null ? all : all.getSubcommands().get(command);
        if (asked == null) {
            throw new UnmatchedArgumentException(all, List.of(String.valueOf(command)));
        }
        asked.usage(all.getOut());
    }
}
