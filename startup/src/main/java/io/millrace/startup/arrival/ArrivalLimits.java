package io.millrace.startup.arrival;

import java.time.Duration;

/// How long a request may take to arrive.
///
/// @param head  from the first byte to the empty line
/// @param body  from the head's end to the last byte of the body
public record ArrivalLimits(Duration head, Duration body) {
    /// Of ports that have no keys for them.
    public static final ArrivalLimits USUAL = new ArrivalLimits(Duration.ofSeconds(30), Duration.ofSeconds(60));
}
