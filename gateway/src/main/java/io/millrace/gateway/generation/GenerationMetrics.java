package io.millrace.gateway.generation;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.DistributionSummary;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import io.millrace.rpc.MetricBuckets;
import io.millrace.rpc.MetricNames;
import java.time.Duration;
import java.util.Arrays;

/// What the gateway counts about generation, under vLLM's names. A request counts once for each of its
/// choices.
public final class GenerationMetrics {
    private final MeterRegistry registry;
    private final Timer firstToken;
    private final Timer endToEnd;
    private final Counter promptTokens;
    private final Counter generationTokens;
    private final DistributionSummary requestPromptTokens;
    private final DistributionSummary requestGenerationTokens;
    private final Counter prefillFallbacks;
    private final Counter decodeResumes;

    public GenerationMetrics(MeterRegistry registry) {
        this.registry = registry;
        this.firstToken = timer(MetricNames.TIME_TO_FIRST_TOKEN, MetricBuckets.firstToken());
        this.endToEnd = timer(MetricNames.E2E_REQUEST_LATENCY, MetricBuckets.requestTime());
        this.promptTokens = registry.counter(MetricNames.PROMPT_TOKENS);
        this.generationTokens = registry.counter(MetricNames.GENERATION_TOKENS);
        this.requestPromptTokens = registry.summary(MetricNames.REQUEST_PROMPT_TOKENS);
        this.requestGenerationTokens = registry.summary(MetricNames.REQUEST_GENERATION_TOKENS);
        this.prefillFallbacks = registry.counter(MetricNames.GATEWAY_PREFILL_FALLBACKS);
        this.decodeResumes = registry.counter(MetricNames.GATEWAY_DECODE_RESUMES);
    }

    void firstToken(long nanos) {
        firstToken.record(Duration.ofNanos(nanos));
    }

    /// A choice came to its end.
    void finished(ReplyEvent.Reason reason, int prompt, int generated, long nanos) {
        registry.counter(MetricNames.REQUEST_SUCCESS, "finished_reason", reason.wireName())
                .increment();
        tokens(prompt, generated);
        endToEnd.record(Duration.ofNanos(nanos));
        requestPromptTokens.record(prompt);
        requestGenerationTokens.record(generated);
    }

    /// A choice ended early: its tokens were computed all the same.
    void abandoned(int prompt, int generated) {
        tokens(prompt, generated);
    }

    private void tokens(int prompt, int generated) {
        promptTokens.increment(prompt);
        generationTokens.increment(generated);
    }

    /// Decode computes a prompt because no prefill instance could.
    void prefillFellBack() {
        prefillFallbacks.increment();
    }

    /// A stream goes on at another instance.
    void decodeResumed() {
        decodeResumes.increment();
    }

    private Timer timer(String name, double[] seconds) {
        Duration[] bounds = Arrays.stream(seconds)
                .mapToObj(bound -> Duration.ofNanos(Math.round(bound * 1e9)))
                .toArray(Duration[]::new);
        return Timer.builder(name).serviceLevelObjectives(bounds).register(registry);
    }
}
