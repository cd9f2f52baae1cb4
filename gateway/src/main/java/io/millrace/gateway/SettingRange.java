package io.millrace.gateway;

import java.time.Duration;
import java.util.List;
import org.springframework.util.unit.DataSize;
import org.springframework.util.unit.DataUnit;

/// Ranges of durations and sizes. What is outside is refused with the key, the value and the range, each written
/// as settings write it.
final class SettingRange {
    private static final int MINUTE = 60;
    private static final int HOUR = 60 * MINUTE;
    private static final int DAY = 24 * HOUR;

    private SettingRange() {}

    static void require(String key, Duration value, Duration least, Duration most) {
        if (value.compareTo(least) < 0 || value.compareTo(most) > 0) {
            throw refused(key, text(value), text(least), text(most));
        }
    }

    static void require(String key, DataSize value, DataSize least, DataSize most) {
        if (value.compareTo(least) < 0 || value.compareTo(most) > 0) {
            throw refused(key, text(value), text(least), text(most));
        }
    }

    private static IllegalArgumentException refused(String key, String value, String least, String most) {
        return new IllegalArgumentException(key + ": " + value + " (expected: " + least + ".." + most + ")");
    }

    private static String text(Duration value) {
        long seconds = value.toSeconds();
        if (!value.equals(Duration.ofSeconds(seconds))) {
            boolean isShort = value.abs().compareTo(Duration.ofDays(1)) < 0;
            return isShort && value.equals(Duration.ofMillis(value.toMillis()))
                    ? value.toMillis() + "ms"
                    : value.toString();
        }
        if (seconds == 0 || seconds % MINUTE != 0) {
            return seconds + "s";
        }
        if (seconds % HOUR != 0) {
            return seconds / MINUTE + "m";
        }
        return seconds % DAY == 0 ? seconds / DAY + "d" : seconds / HOUR + "h";
    }

    private static String text(DataSize value) {
        long bytes = value.toBytes();
        for (DataUnit unit : List.of(DataUnit.GIGABYTES, DataUnit.MEGABYTES, DataUnit.KILOBYTES)) {
            long unitBytes = DataSize.of(1, unit).toBytes();
            if (bytes != 0 && bytes % unitBytes == 0) {
                String name = unit == DataUnit.GIGABYTES ? "GB" : unit == DataUnit.MEGABYTES ? "MB" : "KB";
                return bytes / unitBytes + name;
            }
        }
        return bytes + "B";
    }
}
