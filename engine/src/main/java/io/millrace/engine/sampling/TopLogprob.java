package io.millrace.engine.sampling;

/// One of the likeliest tokens of a position.
///
/// @param id       token
/// @param logprob  log-softmax of the raw logits, before temperature and filters
public record TopLogprob(int id, float logprob) {}
