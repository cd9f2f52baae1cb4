package io.millrace.decode;

import io.millrace.rpc.generate.SharedCache;
import java.util.Optional;

/// The prefix cache, if one is configured.
///
/// @param cache  empty without one
record SharedCacheHolder(Optional<SharedCache> cache) implements AutoCloseable {

    void start() {
        cache.ifPresent(SharedCache::start);
    }

    @Override
    public void close() {
        cache.ifPresent(SharedCache::close);
    }
}
