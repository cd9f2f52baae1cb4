package io.millrace.engine.schedule;

import io.millrace.engine.error.MillraceException;

/// Says in one sentence of what an engine loop has died.
final class LoopDeath {
    private static final String DIED = "the engine of this instance has died and cannot go on: ";

    private LoopDeath() {}

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
