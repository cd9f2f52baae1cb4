package io.millrace.engine.error;

import java.io.Serial;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/// The one exception for errors a caller can meet: a code, one clear sentence, and where it
/// applies the parameter at fault.
public final class MillraceException extends RuntimeException {
    @Serial
    private static final long serialVersionUID = 1L;

    private final ErrorCode code;
    private final @Nullable String param;
    private final long retryAfterMillis;

    public MillraceException(ErrorCode code, String message) {
        this(code, message, null, 0, null);
    }

    public MillraceException(ErrorCode code, String message, @Nullable Throwable cause) {
        this(code, message, null, 0, cause);
    }

    /// @param param             request parameter at fault, or null
    /// @param retryAfterMillis  computed wait before a retry, 0 if none is known
    public MillraceException(
            ErrorCode code, String message, @Nullable String param, long retryAfterMillis, @Nullable Throwable cause) {
        super(message, cause);
        this.code = code;
        this.param = param;
        this.retryAfterMillis = retryAfterMillis;
    }

    /// An error of one request parameter.
    public static MillraceException ofParam(ErrorCode code, String param, String message) {
        return new MillraceException(code, message, param, 0, null);
    }

    public ErrorCode code() {
        return code;
    }

    public Optional<String> param() {
        return Optional.ofNullable(param);
    }

    /// Milliseconds to wait before a retry; 0 when unknown.
    public long retryAfterMillis() {
        return retryAfterMillis;
    }
}
