package io.millrace.rpc.generate;

import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import io.millrace.engine.schedule.FinishInfo;
import io.millrace.rpc.MetricBuckets;
import io.millrace.rpc.MetricNames;
import java.util.concurrent.TimeUnit;

/// The times of prompts that are computed, in vLLM's names and buckets. Decode has them from the first prompt on
/// that it computes itself.
public final class PromptTimers {
    private final Timer firstToken;
    private final Timer queue;
    private final Timer prefill;

    public PromptTimers(MeterRegistry meters) {
        this.firstToken = RequestTimers.timer(MetricNames.TIME_TO_FIRST_TOKEN, MetricBuckets.firstToken(), meters);
        this.queue = RequestTimers.timer(MetricNames.REQUEST_QUEUE_TIME, MetricBuckets.requestTime(), meters);
        this.prefill = RequestTimers.timer(MetricNames.REQUEST_PREFILL_TIME, MetricBuckets.requestTime(), meters);
    }

    /// From the call to the first token.
    public void firstToken(long nanos) {
        firstToken.record(nanos, TimeUnit.NANOSECONDS);
    }

    /// A request computed its prompt here.
    public void prefilled(FinishInfo info) {
        queue.record(info.queueNanos(), TimeUnit.NANOSECONDS);
        prefill.record(info.prefillNanos(), TimeUnit.NANOSECONDS);
    }
}
