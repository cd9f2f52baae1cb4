package io.millrace.standalone.command;

import io.millrace.standalone.bench.BenchSettings;
import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine.ITypeConverter;

/// Numbers of `millrace bench`, in the ranges of its settings.
final class BenchNumbers {
    private BenchNumbers() {}

    /// Numbers separated by commas; an empty text has none.
    ///
    /// @param least  smallest that is accepted
    static List<Integer> list(String option, String text, int least, int most) {
        List<Integer> numbers = new ArrayList<>();
        for (String part : text.isBlank() ? new String[0] : text.split(",", -1)) {
            String digits = part.strip();
            if (!WholeNumbers.isNumber(digits)) {
                throw new IllegalArgumentException(
                        option + ": \"" + text + "\" (expected: numbers separated by commas, e.g. 512,2048)");
            }
            if (!WholeNumbers.isIn(digits, least, most)) {
                throw new IllegalArgumentException(option + ": " + digits + " (expected: " + least + ".." + most + ")");
            }
            numbers.add(Integer.parseInt(digits));
        }
        return numbers;
    }

    /// Tokens decoded; 0 for none.
    static final class Decoded implements ITypeConverter<Integer> {
        @Override
        public Integer convert(String value) {
            return (int) WholeNumbers.read(value, 0, BenchSettings.MAX_TOKENS);
        }
    }

    /// Rows of a prefill step.
    static final class Chunk implements ITypeConverter<Integer> {
        @Override
        public Integer convert(String value) {
            return (int) WholeNumbers.read(value, 1, BenchSettings.MAX_CHUNK);
        }
    }

    /// Longest warm-up; 0 for doing the work once.
    static final class WarmUpSeconds implements ITypeConverter<Integer> {
        @Override
        public Integer convert(String value) {
            return (int) WholeNumbers.read(value, 0, BenchSettings.MAX_WARM_UP_SECONDS);
        }
    }

    /// Measurements of each kind.
    static final class Repeats implements ITypeConverter<Integer> {
        @Override
        public Integer convert(String value) {
            return (int) WholeNumbers.read(value, 1, BenchSettings.MAX_REPEATS);
        }
    }
}
