package io.millrace.prefill;

import io.millrace.rpc.generate.HeldLeases;
import io.millrace.rpc.generate.SharedCache;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.Selector;

/// `/actuator/millrace/leases`: the leases this instance keeps. Empty when it is idle; one that stays is
/// a leak.
@Endpoint(id = "millrace")
final class MillraceEndpoint {
    private final Optional<SharedCache> cache;

    MillraceEndpoint(Optional<SharedCache> cache) {
        this.cache = cache;
    }

    /// @return null (404) for anything else but `leases`
    @ReadOperation
    @Nullable
    List<HeldLeases.Held> read(@Selector String view) {
        if (!view.equals("leases")) {
            return null;
        }
        return cache.map(shared -> shared.leases().list()).orElse(List.of());
    }
}
