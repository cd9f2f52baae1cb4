package io.millrace.standalone;

import io.millrace.standalone.command.Console;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;

/// What a call of the command, in this process, came to.
record CommandRun(int exitCode, List<String> answers, String errors) {

    static CommandRun of(String input, String... args) {
        return of(input.getBytes(StandardCharsets.UTF_8), Map.of(), args);
    }

    static CommandRun of(byte[] input, Map<String, String> environment, String... args) {
        return of(input, environment, Map.of(), args);
    }

    static CommandRun of(
            byte[] input, Map<String, String> environment, Map<String, String> properties, String... args) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        ByteArrayOutputStream err = new ByteArrayOutputStream();
        Console console = new Console(
                new ByteArrayInputStream(input),
                new PrintStream(out, false, StandardCharsets.UTF_8),
                new PrintStream(err, true, StandardCharsets.UTF_8),
                environment,
                properties);
        int exitCode = MillraceCommand.commandLine(console, args).execute(args);
        return new CommandRun(
                exitCode, out.toString(StandardCharsets.UTF_8).lines().toList(), err.toString(StandardCharsets.UTF_8));
    }
}
