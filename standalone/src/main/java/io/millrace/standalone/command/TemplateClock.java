package io.millrace.standalone.command;

import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import java.time.Clock;
import java.time.DateTimeException;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.OffsetDateTime;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.time.temporal.TemporalAccessor;
import java.util.Map;

/// The clock chat templates read. `MILLRACE_NOW` stops it, so that a prompt with a date in it can be
/// reproduced.
final class TemplateClock {
    static final String VARIABLE = "MILLRACE_NOW";

    private TemplateClock() {}

    /// @throws MillraceException `INVALID_REQUEST` if the variable is not a date or time
    static Clock of(Map<String, String> environment) {
        String now = environment.getOrDefault(VARIABLE, "").strip();
        return now.isEmpty() ? Clock.system(ZoneId.systemDefault()) : fixed(now);
    }

    private static Clock fixed(String now) {
        try {
            if (now.chars().allMatch(c -> c >= '0' && c <= '9')) {
                return Clock.fixed(Instant.ofEpochSecond(Long.parseLong(now)), ZoneOffset.UTC);
            }
            if (now.length() == "2026-11-30".length()) {
                return fixed(LocalDate.parse(now).atStartOfDay());
            }
            TemporalAccessor parsed = DateTimeFormatter.ISO_DATE_TIME.parseBest(
                    now.replace(' ', 'T'), OffsetDateTime::from, LocalDateTime::from);
            return parsed instanceof OffsetDateTime time
                    ? Clock.fixed(time.toInstant(), time.getOffset())
                    : fixed(LocalDateTime.from(parsed));
        } catch (DateTimeException | NumberFormatException e) {
            throw new MillraceException(
                    ErrorCode.INVALID_REQUEST,
                    VARIABLE + ": \"" + now + "\" (expected: a date, a date and time such as 2026-11-30T12:00:00Z,"
                            + " or seconds since 1970)",
                    e);
        }
    }

    /// Shows exactly the time given.
    private static Clock fixed(LocalDateTime time) {
        return Clock.fixed(time.toInstant(ZoneOffset.UTC), ZoneOffset.UTC);
    }
}
