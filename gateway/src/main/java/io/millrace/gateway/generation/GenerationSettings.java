package io.millrace.gateway.generation;

import java.time.Duration;

/// Limits of one request's way through the services.
///
/// @param requestTimeout   from admission to the last token
/// @param prefillAttempts  instances asked to compute a prompt before decode does it itself
/// @param decodeAttempts   decode calls of one choice
/// @param resumeWait       how long a stream whose decode died waits for another instance
public record GenerationSettings(
        Duration requestTimeout, int prefillAttempts, int decodeAttempts, Duration resumeWait) {}
