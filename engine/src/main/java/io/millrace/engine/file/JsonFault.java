package io.millrace.engine.file;

import tools.jackson.core.JacksonException;
import tools.jackson.core.exc.StreamConstraintsException;

/// What is wrong with a JSON text, in our words: those of the library are about its own classes.
public final class JsonFault {
    private JsonFault() {}

    /// What was found; where, the exception's location tells.
    public static String found(JacksonException e) {
        if (isBeyondLimits(e)) {
            return "nested too deeply, or a number or key is too long";
        }
        String said = String.valueOf(e.getOriginalMessage());
        if (said.startsWith("Duplicate")) {
            return "a key appears twice in one object";
        }
        if (said.startsWith("Unexpected end")) {
            return "it ends too early";
        }
        return said.startsWith("Trailing") ? "something follows the object" : "a character or word is out of place";
    }

    /// Whether it may be JSON, but is more than is read.
    public static boolean isBeyondLimits(JacksonException e) {
        return e instanceof StreamConstraintsException;
    }
}
