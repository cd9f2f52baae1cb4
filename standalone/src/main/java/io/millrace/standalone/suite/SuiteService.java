package io.millrace.standalone.suite;

/// The services, each before those that need it.
public enum SuiteService {
    KV_CACHE,
    PREFILL,
    DECODE,
    GATEWAY
}
