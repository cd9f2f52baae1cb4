package io.millrace.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.it.RunningSuites.OneProcess;
import io.millrace.it.client.Program;
import io.millrace.it.client.PythonClient;
import io.millrace.it.process.ServiceProcess;
import io.millrace.it.rest.RestClient;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/// The examples of the README run as they stand there, but for the port.
@ExtendWith(RunningSuites.class)
class ReadmeExamplesIT {
    private static final Pattern BLOCK = Pattern.compile("(?ms)^```(bash|sh|shell|console|python)\\n(.*?)^```");
    private static final String DOCUMENTED = "127.0.0.1:8080";

    private final RestClient rest;

    ReadmeExamplesIT(OneProcess suite) {
        this.rest = suite.rest();
    }

    /// A fenced block.
    record Example(String language, String text) {
        @Override
        public String toString() {
            return language + ": " + text.lines().findFirst().orElse("");
        }
    }

    private static List<Example> examples() throws IOException {
        String readme = Files.readString(ServiceProcess.root().resolve("README.md"));
        List<Example> examples = new ArrayList<>();
        for (Matcher block = BLOCK.matcher(readme); block.find(); ) {
            examples.add(new Example(block.group(1), block.group(2)));
        }
        return examples;
    }

    static List<Example> curlExamples() throws IOException {
        return examples().stream()
                .filter(example ->
                        example.text().contains("curl ") && example.text().contains(DOCUMENTED))
                .toList();
    }

    static List<Example> pythonExamples() throws IOException {
        return examples().stream()
                .filter(example -> example.language().equals("python"))
                .toList();
    }

    private String atOurPort(Example example) {
        return example.text().replace(DOCUMENTED, rest.base().getAuthority());
    }

    @Test
    void readmeHasExamplesOfBothKinds() throws IOException {
        assertThat(curlExamples()).isNotEmpty();
        assertThat(pythonExamples())
                .isNotEmpty()
                .allMatch(example -> example.text().contains(DOCUMENTED));
    }

    @ParameterizedTest
    @MethodSource("curlExamples")
    void curlExampleWorks(Example example, @TempDir Path home) throws IOException {
        // An error status fails the command, which it does not by itself.
        Files.writeString(home.resolve(".curlrc"), "fail-with-body\nsilent\nshow-error\nnoproxy = \"*\"\n");

        Program.Outcome outcome = Program.run(
                List.of("bash", "-euo", "pipefail", "-c", atOurPort(example)),
                Map.of("CURL_HOME", home.toString()),
                60);

        assertThat(outcome.exitCode()).as(outcome.output()).isZero();
        assertThat(outcome.output()).isNotBlank().doesNotContain("\"error\"");
    }

    @ParameterizedTest
    @MethodSource("pythonExamples")
    void pythonExampleWorks(Example example) {
        Program.Outcome outcome = Program.run(
                List.of(PythonClient.interpreter().toString(), "-c", atOurPort(example)),
                Map.of("NO_PROXY", "localhost,127.0.0.1"),
                120);

        assertThat(outcome.exitCode()).as(outcome.output()).isZero();
        assertThat(outcome.output()).isNotBlank();
    }
}
