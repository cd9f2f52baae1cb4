package io.millrace.prefill;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import io.millrace.engine.schedule.FinishInfo;
import io.millrace.proto.v1.CachedTokens;
import io.millrace.rpc.MetricNames;
import io.millrace.rpc.generate.PromptTimers;
import java.util.Locale;

/// What prefill counts: each request once, when it is answered.
final class PrefillMeters {
    private final MeterRegistry meters;
    private final PromptTimers timers;
    private final Counter promptTokens;
    private final Counter queriedTokens;
    private final Counter hitTokens;
    private final Counter memoryTokens;
    private final Counter diskTokens;
    private final Counter computedTokens;

    PrefillMeters(MeterRegistry meters) {
        this.meters = meters;
        this.timers = new PromptTimers(meters);
        this.promptTokens = meters.counter(MetricNames.PROMPT_TOKENS);
        this.queriedTokens = meters.counter(MetricNames.PREFIX_CACHE_QUERIES);
        this.hitTokens = meters.counter(MetricNames.PREFIX_CACHE_HITS);
        this.memoryTokens = meters.counter(MetricNames.CACHED_PROMPT_TOKENS, "tier", "memory");
        this.diskTokens = meters.counter(MetricNames.CACHED_PROMPT_TOKENS, "tier", "disk");
        this.computedTokens = meters.counter(MetricNames.CACHED_PROMPT_TOKENS, "tier", "computed");
    }

    void answered(int tokens, CachedTokens cached, FinishInfo info, long wholeNanos) {
        int hit = cached.getMemory() + cached.getDisk();
        promptTokens.increment(tokens);
        queriedTokens.increment(tokens);
        hitTokens.increment(hit);
        memoryTokens.increment(cached.getMemory());
        diskTokens.increment(cached.getDisk());
        computedTokens.increment(tokens - hit);
        timers.prefilled(info);
        timers.firstToken(wholeNanos);
    }

    void refused(String reason) {
        meters.counter(MetricNames.ADMISSION_REJECTIONS, "reason", reason.toLowerCase(Locale.ROOT))
                .increment();
    }
}
