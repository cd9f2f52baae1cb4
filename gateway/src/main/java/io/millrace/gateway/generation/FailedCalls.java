package io.millrace.gateway.generation;

import io.grpc.StatusRuntimeException;
import io.millrace.gateway.router.ServingInstance;
import io.millrace.rpc.Leg;
import io.millrace.rpc.LineLimit;
import java.util.Locale;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/// Tells which calls failed, in no more than [#LINES_A_MINUTE]: while an instance is broken, each request has such a
/// call.
final class FailedCalls {
    static final int LINES_A_MINUTE = 10;

    private static final Logger log = LoggerFactory.getLogger(FailedCalls.class);

    private final LineLimit lines = new LineLimit(LINES_A_MINUTE, System::nanoTime);

    void tell(Leg leg, ServingInstance instance, StatusRuntimeException failure) {
        lines.tell(
                unsaid -> log.warn("{} more calls failed, and had no line", unsaid),
                () -> log.warn(
                        "{} by {} failed: {}",
                        leg.name().toLowerCase(Locale.ROOT),
                        instance.name(),
                        failure.getStatus().getCode()));
    }
}
