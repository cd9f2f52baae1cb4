package io.millrace.standalone.command;

import java.math.BigInteger;
import java.util.Optional;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/// Whole numbers of options, each with its range.
final class WholeNumbers {
    private WholeNumbers() {}

    /// @throws TypeConversionException  with what was found and the range
    static long read(String text, long least, long most) {
        if (!isIn(text, least, most)) {
            String found = isNumber(text) ? text : "\"" + text + "\"";
            throw new TypeConversionException(found + " (expected: " + least + ".." + most + ")");
        }
        return Long.parseLong(text);
    }

    static boolean isNumber(String text) {
        return number(text).isPresent();
    }

    /// Whether it is a number, and one of that range.
    static boolean isIn(String text, long least, long most) {
        return number(text)
                .filter(number -> number.compareTo(BigInteger.valueOf(least)) >= 0
                        && number.compareTo(BigInteger.valueOf(most)) <= 0)
                .isPresent();
    }

    private static Optional<BigInteger> number(String text) {
        try {
            return Optional.of(new BigInteger(text));
        } catch (NumberFormatException e) {
            return Optional.empty();
        }
    }

    /// A port to listen on; 0 for any.
    static final class Port implements ITypeConverter<Integer> {
        @Override
        public Integer convert(String value) {
            return (int) read(value, 0, 65_535);
        }
    }

    /// A count of at least one.
    static final class Count implements ITypeConverter<Integer> {
        @Override
        public Integer convert(String value) {
            return (int) read(value, 1, Integer.MAX_VALUE);
        }
    }

    /// Any number of 64 bits.
    static final class Seed implements ITypeConverter<Long> {
        @Override
        public Long convert(String value) {
            return read(value, Long.MIN_VALUE, Long.MAX_VALUE);
        }
    }
}
