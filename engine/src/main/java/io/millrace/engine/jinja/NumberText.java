package io.millrace.engine.jinja;

import java.math.BigInteger;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Pattern;

/// Reads numbers as Python's `int` and `float` do.
final class NumberText {
    private static final int MAX_DIGITS = 4300;
    private static final Pattern INTEGER = Pattern.compile("[+-]?[0-9]++(?:_[0-9]++)*+");
    private static final String DIGITS = "[0-9]++(?:_[0-9]++)*+";
    private static final Pattern REAL = Pattern.compile(
            "[+-]?(?:" + DIGITS + "(?:\\.(?:" + DIGITS + ")?)?|\\." + DIGITS + ")(?:[eE][+-]?" + DIGITS + ")?");

    private NumberText() {}

    static Optional<BigInteger> integer(String text) {
        String digits = stripped(text);
        if (digits.length() > MAX_DIGITS || !INTEGER.matcher(digits).matches()) {
            return Optional.empty();
        }
        return Optional.of(new BigInteger(digits.replace("_", "").replace("+", "")));
    }

    static Optional<Double> real(String text) {
        String digits = stripped(text);
        String name = digits.toLowerCase(Locale.ROOT).replaceFirst("^[+-]", "");
        if (name.equals("inf") || name.equals("infinity")) {
            return Optional.of(digits.startsWith("-") ? Double.NEGATIVE_INFINITY : Double.POSITIVE_INFINITY);
        }
        if (name.equals("nan")) {
            return Optional.of(Double.NaN);
        }
        boolean hasDigits =
                digits.length() <= MAX_DIGITS && REAL.matcher(digits).matches();
        return hasDigits ? Optional.of(Double.parseDouble(digits.replace("_", ""))) : Optional.empty();
    }

    private static String stripped(String text) {
        return Texts.strip(Text.of(text), Optional.empty(), Texts.Side.BOTH).string();
    }
}
