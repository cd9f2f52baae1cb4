package io.millrace.gateway.generation;

import io.millrace.engine.chat.ReplyParser;
import io.millrace.gateway.request.StopRules;
import io.millrace.proto.v1.GenerateRequest;
import java.util.Optional;

/// One choice to generate.
///
/// @param index    number of the choice in its request
/// @param request  without attempt, lease and generated ids: they are filled in for each call
/// @param parser   splits the text into reasoning, content and tool calls; empty: all text is content
public record ChoiceTask(int index, GenerateRequest request, StopRules stop, Optional<ReplyParser> parser) {}
