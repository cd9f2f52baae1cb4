package io.millrace.gateway.route;

import io.millrace.gateway.generation.ChoiceTask;
import io.millrace.gateway.reply.ReplyFormat;
import io.millrace.gateway.request.GenerationOptions;
import java.util.List;

/// A checked request, ready to run.
///
/// @param promptTokens  token counts of the prompts, each answered by the same number of tasks
record GenerationJob(
        List<ChoiceTask> tasks, List<Integer> promptTokens, GenerationOptions options, ReplyFormat format) {}
