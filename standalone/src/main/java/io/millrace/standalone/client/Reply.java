package io.millrace.standalone.client;

/// A whole answer.
///
/// @param finishReason  e.g. `stop` or `length`; empty where the endpoint does not tell
public record Reply(String text, String reasoning, String finishReason, Receipt receipt) {}
