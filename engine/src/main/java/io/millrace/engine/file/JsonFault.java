package io.millrace.engine.file;

import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonParser;
import tools.jackson.core.TokenStreamLocation;
import tools.jackson.core.exc.StreamConstraintsException;

/// What is wrong with a JSON text, in our words: those of the library are about its own classes. Nothing of the text
/// itself is told but what can be no secret.
public final class JsonFault {
    private static final Pattern LIMIT =
            Pattern.compile("(Document nesting depth|Number value|Name|String value)\\b.* maximum allowed \\((\\d+).*");
    private static final Pattern WORD = Pattern.compile("Non-standard token '(-?(?:NaN|Infinity))'.*", Pattern.DOTALL);
    private static final Pattern CONTROL = Pattern.compile("Illegal .*CTRL-CHAR, code (\\d+)\\).*", Pattern.DOTALL);
    private static final String BYTE_ORDER_MARK = "0xfeff";

    private JsonFault() {}

    /// What was found; where, [#place] tells.
    public static String found(JacksonException e) {
        String said = String.valueOf(e.getOriginalMessage());
        Matcher limit = LIMIT.matcher(said);
        if (limit.matches()) {
            String most = " than " + limit.group(2);
            return switch (limit.group(1)) {
                case "Document nesting depth" -> "nesting deeper" + most + " levels";
                case "Number value" -> "a number longer" + most + " characters";
                case "Name" -> "a key longer" + most + " characters";
                default -> "a text longer" + most + " characters";
            };
        }
        if (isBeyondLimits(e)) {
            return "more than is read";
        }
        Matcher word = WORD.matcher(said);
        if (word.matches()) {
            return word.group(1) + ", which is no JSON number";
        }
        Matcher control = CONTROL.matcher(said);
        if (control.matches()) {
            String code = String.format(Locale.ROOT, "U+%04X", Integer.parseInt(control.group(1)));
            return "a control character, " + code + (said.contains("unquoted") ? ", not escaped" : "");
        }
        if (said.startsWith("Unexpected character") && said.contains(BYTE_ORDER_MARK)) {
            return "a byte order mark, U+FEFF";
        }
        if (said.startsWith("Duplicate")) {
            return "a key appears twice in one object";
        }
        if (said.startsWith("Unexpected end")) {
            return "it ends too early";
        }
        return said.startsWith("Trailing") ? "something follows the object" : "a character or word is out of place";
    }

    /// Where it was found. Of a limit that is exceeded the library does not tell it.
    ///
    /// @param again  of the same text and limits, from its beginning; read and closed here
    public static TokenStreamLocation place(JacksonException e, JsonParser again) {
        try (again) {
            if (!isBeyondLimits(e)) {
                return e.getLocation() == null ? TokenStreamLocation.NA : e.getLocation();
            }
            return exceeded(again);
        }
    }

    private static TokenStreamLocation exceeded(JsonParser text) {
        try {
            while (text.nextToken() != null) {
                // A number's length is looked at when its value is.
                if (text.currentToken().isNumeric()) {
                    text.getNumberValue();
                }
            }
            return TokenStreamLocation.NA;
        } catch (StreamConstraintsException _) {
            return text.currentLocation();
        }
    }

    /// What a line of text has in the place of one JSON document, and at which column.
    ///
    /// @param again  as for [#place]
    public static String ofLine(JacksonException e, JsonParser again) {
        int column = place(e, again).getColumnNr();
        return (isBeyondLimits(e) ? "" : "not JSON: ") + found(e) + (column > 0 ? " at column " + column : "");
    }

    /// Whether it may be JSON, but is more than is read.
    public static boolean isBeyondLimits(JacksonException e) {
        return e instanceof StreamConstraintsException;
    }
}
