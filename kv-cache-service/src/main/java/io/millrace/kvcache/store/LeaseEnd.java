package io.millrace.kvcache.store;

/// Why a lease ended.
enum LeaseEnd {
    RELEASED,
    HOLDER_LOST,
    EXPIRED
}
