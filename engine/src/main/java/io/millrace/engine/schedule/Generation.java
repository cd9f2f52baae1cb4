package io.millrace.engine.schedule;

import io.millrace.engine.error.MillraceException;
import io.millrace.engine.sampling.Sampled;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/// Follows the generated tokens of a sequence: decides when it ends, and holds tokens back until they
/// cannot be part of a stop string.
final class Generation {
    private final SequenceRequest request;
    private final SequenceListener listener;
    private final int contextTokens;
    private final List<Sampled> undelivered = new ArrayList<>();
    private int delivered;
    private int releasable;
    private int count;
    private boolean over;

    /// @param contextTokens  most tokens of the sequence, prompt included
    Generation(SequenceRequest request, SequenceListener listener, int contextTokens) {
        this.request = request;
        this.listener = listener;
        this.contextTokens = contextTokens;
    }

    /// Generated tokens so far; the position of the next one.
    int count() {
        return count;
    }

    SequenceListener listener() {
        return listener;
    }

    /// Goes through the tokens generated and delivered before. Returns why the sequence had ended with
    /// them, or null.
    @Nullable
    FinishCause replay() {
        FinishCause cause = null;
        for (int i = 0; i < request.generatedTokens() && cause == null; i++) {
            cause = judge(request.generatedId(i));
        }
        count = request.generatedTokens();
        delivered = count;
        return cause;
    }

    /// Takes the next token, and delivers what may go when the sequence goes on. Returns why it ends, or
    /// null.
    @Nullable
    FinishCause accept(Sampled token) {
        undelivered.add(token);
        FinishCause cause = judge(token.id());
        if (cause == null && releasable > delivered) {
            List<Sampled> ready = undelivered.subList(0, releasable - delivered);
            List<Sampled> tokens = List.copyOf(ready);
            int first = delivered;
            ready.clear();
            delivered = releasable;
            listener.onTokens(first, tokens);
        }
        return cause;
    }

    /// Delivers the rest together with the end.
    void finish(FinishInfo info) {
        List<Sampled> tokens = List.copyOf(undelivered);
        int first = delivered;
        delivered += tokens.size();
        undelivered.clear();
        listener.onFinish(first, tokens, info);
        over = true;
    }

    /// Tells the listener that the sequence was cancelled or failed.
    void fail(MillraceException error) {
        over = true;
        listener.onError(error);
    }

    /// Whether the listener has had its last call.
    boolean isOver() {
        return over;
    }

    private @Nullable FinishCause judge(int id) {
        count++;
        if (request.isStop(id)) {
            return new FinishCause.StopId(id);
        }
        StopCondition condition = request.stopCondition();
        if (condition == null) {
            releasable = count;
        } else {
            switch (condition.accept(id)) {
                case StopCondition.Matched(String stop, int cutCodePoints) -> {
                    return new FinishCause.StopString(stop, cutCodePoints);
                }
                case StopCondition.Unmatched(int releasableIds) -> releasable = releasableIds;
            }
        }
        boolean full = count >= request.maxTokens() || request.promptTokens() + count >= contextTokens;
        return full ? new FinishCause.Length() : null;
    }
}
