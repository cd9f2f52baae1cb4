package io.millrace.rpc;

import java.io.Serial;

/// Carries a fault out of the reading of a fetch stream; never leaves this package.
final class FetchFaultException extends RuntimeException {
    @Serial
    private static final long serialVersionUID = 1L;

    private final transient CacheFault fault;

    FetchFaultException(CacheFault.Reason reason, String message) {
        super(message, null, false, false);
        this.fault = new CacheFault(reason, message);
    }

    CacheFault fault() {
        return fault;
    }
}
