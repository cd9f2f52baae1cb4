package io.millrace.standalone;

import io.millrace.engine.error.NearestName;
import io.millrace.standalone.command.ExitCode;
import io.millrace.standalone.command.SuiteOptions;
import io.millrace.standalone.keys.KeySources;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import picocli.CommandLine;
import picocli.CommandLine.MissingParameterException;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Model.PositionalParamSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.UnmatchedArgumentException;

/// Says in one sentence what is wrong with a command line.
final class UsageError {
    private static final String INVALID = "Invalid value for ";
    /// Keys of the separate services that are options here.
    private static final Map<String, String> OPTIONS = Map.of("--server.port", "--port", "--server.address", "--host");

    private UsageError() {}

    static int explain(ParameterException e, String[] args) {
        CommandLine line = e.getCommandLine();
        String command = line.getCommandSpec().qualifiedName();
        line.getErr().println("millrace: " + sentence(e, line) + "; see '" + command + " --help'");
        return ExitCode.USAGE;
    }

    private static String sentence(ParameterException e, CommandLine line) {
        if (e instanceof UnmatchedArgumentException unmatched) {
            return unknown(unmatched.getUnmatched(), line);
        }
        // Of an option that is misspelt and so missing, too, the name as it was given says more.
        if (e instanceof MissingParameterException
                && !line.getUnmatchedArguments().isEmpty()) {
            return unknown(line.getUnmatchedArguments(), line);
        }
        String message = String.valueOf(e.getMessage());
        int colon = message.indexOf(": ");
        return e.getArgSpec() instanceof OptionSpec option && message.startsWith(INVALID) && colon > 0
                ? option.longestName() + message.substring(colon)
                : message;
    }

    /// Of several the first one: what follows it may have been meant as its value.
    private static String unknown(List<String> arguments, CommandLine line) {
        String first = arguments.getFirst();
        String name = first.indexOf('=') > 0 ? first.substring(0, first.indexOf('=')) : first;
        if (name.startsWith(KeySources.ARGUMENT) || name.startsWith("-Dmillrace.")) {
            return name + ": " + keyRefusal(name, line);
        }
        List<String> known = new ArrayList<>();
        boolean isOption = name.startsWith("-");
        if (isOption) {
            line.getCommandSpec().optionsMap().keySet().forEach(known::add);
        } else {
            known.addAll(line.getSubcommands().keySet());
        }
        if (!isOption && known.isEmpty()) {
            return SuiteOptions.keyApart(line.getCommandSpec()).orElseGet(() -> word(first, line));
        }
        String expected = isOption ? "an option of " + line.getCommandSpec().qualifiedName() : "a command";
        Optional<String> near = isOption
                ? Optional.ofNullable(OPTIONS.get(name)).filter(known::contains).or(() -> NearestName.of(name, known))
                : NearestName.ofFew(name, known);
        return name + ": unknown (expected: " + expected
                + near.map(meant -> "; nearest is " + meant).orElse("") + ")";
    }

    private static String word(String word, CommandLine line) {
        List<PositionalParamSpec> taken = line.getCommandSpec().positionalParameters();
        return taken.isEmpty()
                ? "\"" + word + "\": unknown (expected: options alone)"
                : "\"" + word + "\": one word too many (expected: one "
                        + taken.getFirst().paramLabel() + ", in quotes if it has spaces)";
    }

    private static String keyRefusal(String name, CommandLine line) {
        return SuiteOptions.areTakenBy(line.getCommandSpec())
                ? "unknown (expected: --" + name.substring(2) + "=VALUE)"
                : "not taken here (expected: after up, demo, chat or generate, which start the services)";
    }
}
