package io.millrace.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.it.RunningSuites.OneProcess;
import io.millrace.it.client.Program;
import io.millrace.it.client.PythonClient;
import io.millrace.it.process.ServiceProcess;
import io.millrace.it.rest.RestClient;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/// The public Python client works against the suite.
@ExtendWith(RunningSuites.class)
class PythonOpenAiIT {
    private static final Path SCRIPT =
            ServiceProcess.root().resolve("integration-tests/src/test/python/openai_client.py");

    private final RestClient rest;

    PythonOpenAiIT(OneProcess suite) {
        this.rest = suite.rest();
    }

    @ParameterizedTest
    @ValueSource(strings = {"whole", "streamed", "tools", "completions", "models", "errors"})
    void publicPythonClientWorks(String part) {
        Path python = PythonClient.interpreter();

        Program.Outcome outcome = Program.run(
                List.of(python.toString(), SCRIPT.toString(), part),
                Map.of("OPENAI_BASE_URL", rest.base() + "/v1", "OPENAI_API_KEY", "none", "NO_PROXY", "127.0.0.1"),
                120);

        assertThat(outcome.output()).contains("passed: " + part);
        assertThat(outcome.exitCode()).isZero();
    }
}
