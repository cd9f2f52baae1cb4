package io.millrace.engine.chat;

import io.millrace.engine.file.JsonFault;
import java.io.StringWriter;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.core.StreamReadFeature;
import tools.jackson.databind.DeserializationFeature;
import tools.jackson.databind.json.JsonMapper;

/// JSON text to plain Java values and back; numbers stay exact, doubled keys and trailing text are
/// errors.
final class Json {
    private static final JsonMapper MAPPER = JsonMapper.builder()
            .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
            .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
            .enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS)
            .enable(DeserializationFeature.USE_BIG_INTEGER_FOR_INTS)
            .build();
    private static final int SHOWN_CHARACTERS = 60;

    private Json() {}

    /// What reading a text came to.
    sealed interface Parsed {
        /// A JSON value; null is JSON's null.
        record Value(@Nullable Object value) implements Parsed {}

        /// Not JSON.
        record Invalid() implements Parsed {}

        /// It may be JSON, and is more than is read: too deep, too long, a number that Java cannot hold.
        ///
        /// @param found  what is beyond a limit, e.g. `nesting deeper than 500 levels`
        record BeyondLimits(String found) implements Parsed {}
    }

    static Parsed read(String text) {
        try {
            return new Parsed.Value(MAPPER.readValue(text, Object.class));
        } catch (JacksonException e) {
            return JsonFault.isBeyondLimits(e) ? new Parsed.BeyondLimits(JsonFault.found(e)) : new Parsed.Invalid();
        } catch (ArithmeticException | NumberFormatException _) {
            // Of the decimal parser, which is handed through: JSON has no bound for exponents, Java has.
            return new Parsed.BeyondLimits("a number whose exponent is out of range");
        }
    }

    static String write(@Nullable Object value) {
        StringWriter text = new StringWriter();
        MAPPER.writeValue(text, value);
        return text.toString();
    }

    /// A value's JSON kind, for error sentences.
    static String kind(@Nullable Object value) {
        return switch (value) {
            case null -> "nothing";
            case String text -> "the text " + show(text);
            case Boolean flag -> flag.toString();
            case Number number -> "the number " + number;
            case List<?> list -> "a list";
            case Map<?, ?> map -> "an object";
            default -> value.getClass().getSimpleName();
        };
    }

    /// The value as short JSON text, for error sentences.
    static String show(Object value) {
        String text = write(value);
        return text.length() <= SHOWN_CHARACTERS ? text : text.substring(0, SHOWN_CHARACTERS) + "…";
    }
}
