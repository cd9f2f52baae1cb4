package io.millrace.kvcache.store;

import java.util.List;

/// A standing lease, for people to look at.
public record LeaseView(String id, List<String> holders, int blocks, int tails, long tailBytes, long expiresInMillis) {
    public LeaseView {
        holders = List.copyOf(holders);
    }
}
