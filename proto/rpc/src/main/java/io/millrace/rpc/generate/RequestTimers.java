package io.millrace.rpc.generate;

import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import io.millrace.engine.schedule.FinishInfo;
import io.millrace.rpc.MetricBuckets;
import io.millrace.rpc.MetricNames;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;

/// The times of requests that are decoded, in vLLM's names and buckets.
public final class RequestTimers {
    private final Timer firstToken;
    private final Timer decode;
    private final Timer perToken;
    private final Timer betweenTokens;
    private final Timer whole;

    public RequestTimers(MeterRegistry meters) {
        this.firstToken = timer(MetricNames.TIME_TO_FIRST_TOKEN, MetricBuckets.firstToken(), meters);
        this.decode = timer(MetricNames.REQUEST_DECODE_TIME, MetricBuckets.requestTime(), meters);
        this.perToken = timer(MetricNames.TIME_PER_OUTPUT_TOKEN, MetricBuckets.interToken(), meters);
        this.betweenTokens = timer(MetricNames.INTER_TOKEN_LATENCY, MetricBuckets.interToken(), meters);
        this.whole = timer(MetricNames.E2E_REQUEST_LATENCY, MetricBuckets.requestTime(), meters);
    }

    static Timer timer(String name, double[] seconds, MeterRegistry meters) {
        Duration[] bounds = Arrays.stream(seconds)
                .mapToObj(bound -> Duration.ofNanos(Math.round(bound * 1e9)))
                .toArray(Duration[]::new);
        return Timer.builder(name).serviceLevelObjectives(bounds).register(meters);
    }

    /// From the call to the first token.
    public void firstToken(long nanos) {
        firstToken.record(nanos, TimeUnit.NANOSECONDS);
    }

    /// From one chunk of a stream to the next.
    public void betweenTokens(long nanos) {
        betweenTokens.record(nanos, TimeUnit.NANOSECONDS);
    }

    /// A request was decoded here to its end.
    ///
    /// @param tokens      tokens decoded here
    /// @param wholeNanos  from the call to the end
    public void decoded(FinishInfo info, int tokens, long wholeNanos) {
        decode.record(info.decodeNanos(), TimeUnit.NANOSECONDS);
        if (tokens > 1) {
            perToken.record(info.decodeNanos() / (tokens - 1), TimeUnit.NANOSECONDS);
        }
        whole.record(wholeNanos, TimeUnit.NANOSECONDS);
    }
}
