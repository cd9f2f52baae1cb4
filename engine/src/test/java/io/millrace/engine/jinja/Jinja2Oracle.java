package io.millrace.engine.jinja;

import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URISyntaxException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.json.JsonMapper;

/// The independent implementation: Python's Jinja2 in a process of its own.
public final class Jinja2Oracle implements AutoCloseable {
    /// What `strftime_now` sees on both sides, in UTC.
    public static final String NOW = "2026-03-05T07:08:09";

    /// What Jinja2 made of a template.
    public sealed interface Answer {
        record Rendered(String text) implements Answer {}

        record Failed(String error) implements Answer {}
    }

    private static final JsonMapper JSON = JsonMapper.builder().build();

    private final Process process;
    private final BufferedWriter requests;
    private final BufferedReader answers;

    private Jinja2Oracle(Process process) {
        this.process = process;
        this.requests = process.outputWriter(StandardCharsets.UTF_8);
        this.answers = process.inputReader(StandardCharsets.UTF_8);
    }

    /// Starts it; empty, with a message on standard error, on a machine without python3 or its package
    /// jinja2.
    public static Optional<Jinja2Oracle> start() {
        try {
            Process check = new ProcessBuilder("python3", "-c", "import jinja2; assert jinja2.__version__ >= '3.1'")
                    .redirectErrorStream(true)
                    .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                    .start();
            if (!check.waitFor(60, TimeUnit.SECONDS) || check.exitValue() != 0) {
                return missing();
            }
            Path script =
                    Path.of(Jinja2Oracle.class.getResource("jinja2_oracle.py").toURI());
            Process process = new ProcessBuilder("python3", "-W", "ignore", script.toString())
                    .redirectError(ProcessBuilder.Redirect.INHERIT)
                    .start();
            return Optional.of(new Jinja2Oracle(process));
        } catch (IOException | URISyntaxException e) {
            return missing();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return missing();
        }
    }

    private static Optional<Jinja2Oracle> missing() {
        System.err.println("SKIPPED: comparing with Jinja2 needs python3 with the package jinja2 3.1 or newer");
        return Optional.empty();
    }

    /// Renders there. Variables are JSON values.
    public Answer render(String template, Map<String, ? extends @Nullable Object> variables) {
        Map<String, Object> request = new LinkedHashMap<>();
        request.put("template", template);
        request.put("variables", variables);
        request.put("now", NOW);
        try {
            requests.write(JSON.writeValueAsString(request));
            requests.newLine();
            requests.flush();
            String line = answers.readLine();
            if (line == null) {
                throw new IllegalStateException("the Jinja2 process ended");
            }
            Map<?, ?> answer = JSON.readValue(line, Map.class);
            return answer.get("text") instanceof String text
                    ? new Answer.Rendered(text)
                    : new Answer.Failed(String.valueOf(answer.get("error")));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public void close() {
        process.destroy();
    }
}
