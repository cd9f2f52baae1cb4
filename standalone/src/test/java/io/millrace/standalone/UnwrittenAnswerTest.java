package io.millrace.standalone;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.standalone.command.AnswerOutput;
import io.millrace.standalone.command.Console;
import io.millrace.standalone.command.ExitCode;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.channels.Pipe;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/// Commands whose standard output takes nothing.
class UnwrittenAnswerTest {
    private static final String MINI =
            Path.of(System.getProperty("millrace.root", ".."), "models/mini").toString();
    private static final byte[] INPUT = "{\"text\": \"Hi\"}\n{\"text\": \"Hi\"}\n".getBytes(StandardCharsets.UTF_8);

    private record Unwritten(int exitCode, String errors) {}

    private static Unwritten run(String reason, String... args) {
        OutputStream full = new OutputStream() {
            @Override
            public void write(int b) throws IOException {
                throw new IOException(reason);
            }
        };
        ByteArrayOutputStream err = new ByteArrayOutputStream();
        Console console = new Console(
                new ByteArrayInputStream(INPUT),
                AnswerOutput.to(full),
                new PrintStream(err, true, StandardCharsets.UTF_8),
                Map.of(),
                Map.of());
        int exitCode = MillraceCommand.commandLine(console, args).execute(args);
        return new Unwritten(exitCode, err.toString(StandardCharsets.UTF_8));
    }

    @ParameterizedTest
    @ValueSource(strings = {"--help", "--version", "up --help", "tokenize", "render", "doctor", "verify"})
    void aCommandThatCannotAnswerFailsInASentence(String command) {
        List<String> args = new ArrayList<>(List.of(command.split(" ")));
        if (args.size() == 1 && !command.startsWith("-")) {
            args.addAll(List.of("--model", MINI));
        }
        Unwritten run = run("No space left on device", args.toArray(String[]::new));
        assertThat(run.exitCode()).isEqualTo(ExitCode.FAILED);
        assertThat(run.errors().lines())
                .containsExactly("millrace: standard output cannot be written: No space left on device"
                        + " (expected: one that takes the answer)");
    }

    @Test
    void aReaderThatLeftEndsACommandQuietly() throws IOException {
        for (String[] args : List.of(new String[] {"--help"}, new String[] {"tokenize", "--model", MINI})) {
            Unwritten run = run(brokenPipe(), args);
            assertThat(run.exitCode()).isEqualTo(ExitCode.READER_GONE);
            assertThat(run.errors()).isEmpty();
        }
    }

    /// As this machine says it.
    private static String brokenPipe() throws IOException {
        Pipe pipe = Pipe.open();
        try (Pipe.SinkChannel sink = pipe.sink()) {
            pipe.source().close();
            sink.write(ByteBuffer.allocate(1));
            throw new IllegalStateException("a pipe without a reader was written");
        } catch (IOException e) {
            return String.valueOf(e.getMessage());
        }
    }

    /// Where there are no tools to make a German locale this is a test in the machine's own.
    @Test
    @DisabledOnOs(value = OS.WINDOWS, disabledReason = "no process hears there that its reader left")
    void aReaderThatLeftIsKnownInAnyLanguage(@TempDir Path locales) throws Exception {
        ProcessBuilder command = new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-cp",
                System.getProperty("java.class.path"),
                MillraceCommand.class.getName(),
                "--version");
        command.environment().remove("LANGUAGE");
        command.environment().put("LC_ALL", "de_DE.UTF-8");
        if (makesLocale(locales.resolve("de_DE.UTF-8"))) {
            command.environment().put("LOCPATH", locales.toString());
        }
        Process process = command.start();
        process.getInputStream().close();
        String errors = new String(process.getErrorStream().readAllBytes(), StandardCharsets.UTF_8);

        assertThat(process.waitFor()).as(errors).isEqualTo(ExitCode.READER_GONE);
        assertThat(errors).isEmpty();
    }

    private static boolean makesLocale(Path folder) throws InterruptedException {
        try {
            return new ProcessBuilder("localedef", "-i", "de_DE", "-f", "UTF-8", folder.toString())
                            .redirectErrorStream(true)
                            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                            .start()
                            .waitFor()
                    == 0;
        } catch (IOException _) {
            return false;
        }
    }

    @Test
    void aCommandThatAnswersIsDone() {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        AnswerOutput.to(out).println("ä");
        assertThat(out.toString(StandardCharsets.UTF_8)).isEqualTo("ä" + System.lineSeparator());
    }
}
