package io.millrace.rpc.generate;

import io.millrace.rpc.KvCacheClient;
import io.millrace.rpc.LeaseKeeper;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;

/// The leases this process keeps renewed. Empty when it is idle.
public final class HeldLeases {
    private final KvCacheClient client;
    private final ConcurrentHashMap<String, Held> held = new ConcurrentHashMap<>();

    HeldLeases(KvCacheClient client) {
        this.client = client;
    }

    /// A lease, as an operator sees it.
    ///
    /// @param leaseId    request, choice and attempt
    /// @param since      when this process joined it
    public record Held(String leaseId, Instant since) {}

    public List<Held> list() {
        return List.copyOf(held.values());
    }

    /// Keeps a lease that this process has just opened or joined.
    Hold keep(String leaseId) {
        LeaseKeeper keeper = client.keepAlive(leaseId);
        held.put(leaseId, new Held(leaseId, Instant.now()));
        return new Hold(leaseId, keeper);
    }

    /// A kept lease. One of the two calls ends it here; further ones do nothing.
    public final class Hold {
        private final String leaseId;
        private final LeaseKeeper keeper;
        private boolean done;

        private Hold(String leaseId, LeaseKeeper keeper) {
            this.leaseId = leaseId;
            this.keeper = keeper;
        }

        public String leaseId() {
            return leaseId;
        }

        /// Renews no more, but stays a holder: who comes next has at least two thirds of a lease time to
        /// join.
        public void handOver() {
            finish();
        }

        /// Ends the lease for all its holders. Does not block.
        public void end() {
            if (finish()) {
                client.endLease(leaseId);
            }
        }

        private synchronized boolean finish() {
            if (done) {
                return false;
            }
            done = true;
            keeper.close();
            held.remove(leaseId);
            return true;
        }
    }
}
