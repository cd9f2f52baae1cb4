package io.millrace.standalone.command;

import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/// How to answer; what is not given is the model's own.
public final class AnswerOptions {
    @Option(names = "--max-tokens", paramLabel = "N", description = "Largest number of new tokens.")
    private @Nullable Integer maxTokens;

    @Option(names = "--temperature", paramLabel = "T", description = "0 is greedy.")
    private @Nullable Double temperature;

    @Option(names = "--seed", paramLabel = "N", description = "The same seed gives the same text.")
    private @Nullable Long seed;

    /// The fields of a request that are given.
    Map<String, @Nullable Object> fields() {
        Map<String, @Nullable Object> fields = new LinkedHashMap<>();
        if (maxTokens != null) {
            fields.put("max_tokens", maxTokens);
        }
        if (temperature != null) {
            fields.put("temperature", temperature);
        }
        if (seed != null) {
            fields.put("seed", seed);
        }
        return fields;
    }
}
