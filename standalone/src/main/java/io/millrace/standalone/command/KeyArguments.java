package io.millrace.standalone.command;

import io.millrace.standalone.keys.KeySources;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Stack;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.IParameterPreprocessor;
import picocli.CommandLine.Model.ArgSpec;
import picocli.CommandLine.Model.CommandSpec;

/// Takes the arguments of a command that are keys, `--millrace.kernels.threads=2`, before the others are
/// read.
final class KeyArguments implements IParameterPreprocessor {
    private static final String END_OF_OPTIONS = "--";

    private final List<String> taken = new ArrayList<>();
    private Optional<String> apart = Optional.empty();

    List<String> taken() {
        return List.copyOf(taken);
    }

    /// What is wrong with the first key that came without a value, if another word follows it, most likely meant
    /// as that.
    Optional<String> apart() {
        return apart;
    }

    /// @param args  those that follow the command, the first one on top
    @Override
    public boolean preprocess(
            Stack<String> args, CommandSpec command, @Nullable ArgSpec none, Map<String, Object> info) {
        taken.clear();
        apart = Optional.empty();
        int end = args.lastIndexOf(END_OF_OPTIONS);
        List<String> others = new ArrayList<>();
        for (int i = 0; i < args.size(); i++) {
            String argument = args.get(i);
            if (i > end && argument.startsWith(KeySources.ARGUMENT)) {
                taken.addFirst(argument);
                String next = i > 0 ? args.get(i - 1) : "-";
                if (argument.indexOf('=') < 0 && !next.startsWith("-")) {
                    apart = Optional.of(
                            argument + ": without a value (expected: " + argument + "=" + next + ", in one word)");
                }
            } else {
                others.add(argument);
            }
        }
        args.clear();
        args.addAll(others);
        return false;
    }
}
