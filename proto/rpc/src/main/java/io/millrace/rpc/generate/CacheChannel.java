package io.millrace.rpc.generate;

import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.millrace.rpc.KvCacheClientSettings;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/// Opens the channel to the prefix cache that a configuration names.
public final class CacheChannel {
    private static final long KEEP_ALIVE_SECONDS = 20;
    private static final long KEEP_ALIVE_TIMEOUT_SECONDS = 5;

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
        return Optional.of(Grpc.newChannelBuilder(targets.getFirst(), InsecureChannelCredentials.create())
                .keepAliveTime(KEEP_ALIVE_SECONDS, TimeUnit.SECONDS)
                .keepAliveTimeout(KEEP_ALIVE_TIMEOUT_SECONDS, TimeUnit.SECONDS)
                .maxInboundMessageSize(KvCacheClientSettings.DEFAULT_MAX_MESSAGE_BYTES)
                .build());
    }
}
