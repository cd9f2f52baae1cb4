package io.millrace.engine.schedule;

/// How a sequence ended and what it took.
///
/// @param cause                 why it ended
/// @param generatedTokens       generated tokens, those given included
/// @param promptTokensComputed  prompt tokens whose rows were computed here, for the first time
/// @param preemptions           how often it lost its pages and was computed again
/// @param queueNanos            from the request to its pages
/// @param prefillNanos          from the start to the first token sampled here
/// @param decodeNanos           from there to the end
public record FinishInfo(
        FinishCause cause,
        int generatedTokens,
        int promptTokensComputed,
        int preemptions,
        long queueNanos,
        long prefillNanos,
        long decodeNanos) {}
