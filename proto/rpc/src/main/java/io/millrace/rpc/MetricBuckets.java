package io.millrace.rpc;

/// Histogram bounds in seconds, those of vLLM. Each call gives a new array, for `serviceLevelObjectives`.
public final class MetricBuckets {
    private MetricBuckets() {}

    /// For time to first token.
    public static double[] firstToken() {
        return new double[] {
            .001, .005, .01, .02, .04, .06, .08, .1, .25, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560
        };
    }

    /// For the time between tokens and the mean time of a token.
    public static double[] interToken() {
        return new double[] {.01, .025, .05, .075, .1, .15, .2, .3, .4, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80};
    }

    /// For end-to-end, queue, prefill, decode and inference time.
    public static double[] requestTime() {
        return new double[] {.3, .5, .8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680};
    }
}
