package io.millrace.standalone.command;

import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Option;
import picocli.CommandLine.TypeConversionException;

/// How to answer; what is not given is the model's own.
public final class AnswerOptions {
    private static final int MAX_TEMPERATURE = 2;

    @Option(
            names = "--max-tokens",
            paramLabel = "N",
            converter = WholeNumbers.Count.class,
            description = "Largest number of new tokens.")
    private @Nullable Integer maxTokens;

    @Option(
            names = "--temperature",
            paramLabel = "T",
            converter = Temperature.class,
            description = "0 is greedy; at most 2.")
    private @Nullable Double temperature;

    @Option(
            names = "--seed",
            paramLabel = "N",
            converter = WholeNumbers.Seed.class,
            description = "The same seed gives the same text.")
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

    /// Reads a temperature.
    static final class Temperature implements ITypeConverter<Double> {
        @Override
        public Double convert(String value) {
            try {
                double temperature = Double.parseDouble(value);
                if (temperature >= 0 && temperature <= MAX_TEMPERATURE) {
                    return temperature;
                }
            } catch (NumberFormatException e) {
                throw refused("\"" + value + "\"");
            }
            throw refused(value);
        }

        private static TypeConversionException refused(String found) {
            return new TypeConversionException(found + " (expected: 0.." + MAX_TEMPERATURE + ")");
        }
    }
}
