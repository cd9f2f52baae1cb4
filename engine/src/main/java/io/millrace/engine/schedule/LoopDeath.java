package io.millrace.engine.schedule;

import io.millrace.engine.error.MillraceException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;

/// Says in one sentence of what an engine loop has died.
final class LoopDeath {
    private static final String DIED = "the engine of this instance has died and cannot go on: ";

    /// The reason when there is no memory to say it in other words.
    static final String NO_MEMORY = DIED + "OutOfMemoryError";

    /// The reason when none can be made from the cause.
    static final String UNSAID = DIED + "its failure cannot be described";

    private LoopDeath() {}

    /// Logs an error if that can be done, without its cause if that is what fails. Throws nothing: a dying
    /// loop has more to do.
    static void log(Logger log, @Nullable String what, Throwable cause) {
        try {
            log.error("{}", what, cause);
        } catch (Throwable _) { // loop guard: the cause may not let itself be read
            try {
                log.error("{}", what);
            } catch (Throwable _) { // loop guard: there is no place left to say it
                return;
            }
        }
    }

    static String reason(Throwable cause) {
        return DIED
                + switch (cause) {
                    case MillraceException known -> known.getMessage();
                    case InternalError unreadable
                    when isOfMemory(unreadable) ->
                        "a mapped file can no longer be read; the packed weights may have been shortened or their"
                                + " disk may fail (" + said(unreadable) + ")";
                    case InterruptedException _ -> "its thread was interrupted";
                    default -> said(cause);
                };
    }

    /// The JVM's words for a page of a mapped file that is not there.
    private static boolean isOfMemory(InternalError error) {
        return error.getMessage() != null && error.getMessage().contains("unsafe memory access");
    }

    private static String said(Throwable cause) {
        String name = cause.getClass().getSimpleName();
        return cause.getMessage() == null ? name : name + ": " + cause.getMessage();
    }
}
