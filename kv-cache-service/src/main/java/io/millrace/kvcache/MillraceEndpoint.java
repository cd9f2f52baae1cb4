package io.millrace.kvcache;

import io.millrace.kvcache.store.BlockStore;
import io.millrace.kvcache.store.LeaseView;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.Selector;

/// `/actuator/millrace/leases`: the leases that stand. Empty when the suite is idle; a lease that stays
/// is a leak.
@Endpoint(id = "millrace")
final class MillraceEndpoint {
    private final BlockStore store;

    MillraceEndpoint(BlockStore store) {
        this.store = store;
    }

    /// @return null (404) for anything else but `leases`
    @ReadOperation
    @Nullable
    List<LeaseView> read(@Selector String view) {
        return view.equals("leases") ? store.leases() : null;
    }
}
