package io.millrace.kvcache.store;

/// Who wants a lease, and how long it stands after this call.
public record LeaseTerms(String leaseId, String holder, long durationNanos) {}
