package io.millrace.engine.jinja;

import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.time.temporal.ChronoField;
import java.util.Locale;

/// Python's `strftime` in English.
final class Strftime {
    private Strftime() {}

    static String format(String pattern, ZonedDateTime time) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < pattern.length(); i++) {
            char c = pattern.charAt(i);
            if (c != '%' || i + 1 == pattern.length()) {
                text.append(c);
                continue;
            }
            char letter = pattern.charAt(++i);
            if (letter == '-' && i + 1 < pattern.length()) {
                String padded = letter(pattern.charAt(++i), time);
                text.append(padded.replaceFirst("^[0 ]+(?=.)", ""));
            } else {
                text.append(letter(letter, time));
            }
        }
        return text.toString();
    }

    private static String letter(char letter, ZonedDateTime time) {
        String pattern = switch (letter) {
            case 'a' -> "EEE";
            case 'A' -> "EEEE";
            case 'd' -> "dd";
            case 'b', 'h' -> "MMM";
            case 'B' -> "MMMM";
            case 'm' -> "MM";
            case 'y' -> "yy";
            case 'Y' -> "uuuu";
            case 'H' -> "HH";
            case 'I' -> "hh";
            case 'p' -> "a";
            case 'M' -> "mm";
            case 'S' -> "ss";
            case 'f' -> "SSSSSS";
            case 'j' -> "DDD";
            case 'F' -> "uuuu-MM-dd";
            case 'T', 'X' -> "HH:mm:ss";
            case 'R' -> "HH:mm";
            case 'D', 'x' -> "MM/dd/yy";
            default -> "";
        };
        if (!pattern.isEmpty()) {
            return DateTimeFormatter.ofPattern(pattern, Locale.US).format(time);
        }
        return switch (letter) {
            case '%' -> "%";
            case 'n' -> "\n";
            case 't' -> "\t";
            // datetime.now() in the reference has no time zone.
            case 'z', 'Z' -> "";
            case 'e' -> String.format(Locale.ROOT, "%2d", time.getDayOfMonth());
            case 'w' -> String.valueOf(time.getDayOfWeek().getValue() % 7);
            case 'u' -> String.valueOf(time.getDayOfWeek().getValue());
            case 'c' -> format("%a %b %e %H:%M:%S %Y", time);
            case 's' -> String.valueOf(time.getLong(ChronoField.INSTANT_SECONDS));
            default -> throw JinjaException.unsupported("the time format %" + letter);
        };
    }
}
