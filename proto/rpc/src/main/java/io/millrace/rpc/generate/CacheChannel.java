package io.millrace.rpc.generate;

import io.grpc.ManagedChannel;
import io.millrace.rpc.KvCacheClientSettings;
import io.millrace.rpc.ServiceChannel;
import io.millrace.rpc.ServiceTarget;
import java.util.List;
import java.util.Optional;

/// Opens the channel to the prefix cache that a configuration names.
public final class CacheChannel {
    private CacheChannel() {}

    /// @param key      configuration key, for the error
    /// @param targets  gRPC targets: none, or the one cache that prefill and decode share
    public static Optional<ManagedChannel> open(String key, List<String> targets) {
        if (targets.isEmpty()) {
            return Optional.empty();
        }
        if (targets.size() > 1) {
            throw new IllegalArgumentException(
                    key + ": " + targets.size() + " targets (expected: one, the cache that prefill and decode share)");
        }
        return Optional.of(ServiceChannel.open(
                ServiceTarget.forGrpc(targets.getFirst()), KvCacheClientSettings.DEFAULT_MAX_MESSAGE_BYTES));
    }
}
