package io.millrace.decode;

import io.micrometer.core.instrument.MeterRegistry;
import io.millrace.engine.schedule.EngineLoop;
import io.millrace.engine.schedule.EngineStats;
import io.millrace.engine.schedule.FinishCause;
import io.millrace.engine.schedule.FinishInfo;
import io.millrace.rpc.MetricNames;
import io.millrace.rpc.generate.EngineMeters;
import io.millrace.rpc.generate.PromptTimers;
import io.millrace.rpc.generate.RequestTimers;
import java.util.Locale;

/// What decode counts.
final class DecodeMeters {
    private final MeterRegistry meters;
    private final RequestTimers timers;

    DecodeMeters(EngineLoop loop, MeterRegistry meters) {
        this.meters = meters;
        this.timers = new RequestTimers(meters);
        EngineMeters.counter(MetricNames.GENERATION_TOKENS, EngineStats::generatedTokens, loop, meters);
        EngineMeters.counter(
                MetricNames.DECODE_PROMPT_TOKENS_COMPUTED, EngineStats::promptTokensComputed, loop, meters);
    }

    /// @param tokens      tokens streamed
    /// @param wholeNanos  from the call to the end
    void finished(FinishInfo info, int tokens, long wholeNanos) {
        String reason = switch (info.cause()) {
            case FinishCause.StopId ignored -> "stop";
            case FinishCause.StopString ignored -> "stop";
            case FinishCause.Length ignored -> "length";
        };
        meters.counter(MetricNames.REQUEST_SUCCESS, "finished_reason", reason).increment();
        if (info.promptTokensComputed() > 0) {
            new PromptTimers(meters).prefilled(info);
        }
        timers.decoded(info, tokens, wholeNanos);
    }

    void firstToken(long nanos) {
        timers.firstToken(nanos);
    }

    void betweenTokens(long nanos) {
        timers.betweenTokens(nanos);
    }

    void refused(String reason) {
        meters.counter(MetricNames.ADMISSION_REJECTIONS, "reason", reason.toLowerCase(Locale.ROOT))
                .increment();
    }
}
