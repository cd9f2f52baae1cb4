package io.millrace.gateway.route;

/// Requests that the gateway has begun to answer and not yet answered in full; a bean of its context.
public interface RequestsUnderWay {
    int count();
}
