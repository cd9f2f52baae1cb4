package io.millrace.gateway.router;

import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/// Decides when to tell of configured targets that nobody answers at: once per target, when it has been silent for
/// long enough, and again only after it answered.
final class SilentTargets {
    private final long patienceNanos;
    private final Map<String, Long> silentSince = new HashMap<>();
    private final Set<String> told = new HashSet<>();

    SilentTargets(Duration patience) {
        this.patienceNanos = patience.toNanos();
    }

    void answered(String target) {
        silentSince.remove(target);
        told.remove(target);
    }

    /// It was asked and did not answer.
    ///
    /// @return whether that is to be told now
    boolean isToTell(String target, long nowNanos) {
        long since = silentSince.computeIfAbsent(target, _ -> nowNanos);
        return nowNanos - since >= patienceNanos && told.add(target);
    }
}
