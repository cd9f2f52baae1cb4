package io.millrace.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.millrace.kernels.KvFormat;
import io.millrace.kernels.QuantFormat;
import io.millrace.kernels.nativecode.IsaLevel;
import io.millrace.kernels.nativecode.MachineLimits;
import io.millrace.kernels.nativecode.MachineLimits.Speeds;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.VerboseMode;

/// Every benchmark runs once on small sizes, and costs are those computed by hand.
class OperatorBenchmarksTest {
    private static final MachineLimits MACHINE =
            new MachineLimits(IsaLevel.AVX2, 2, new Speeds(1000, 400, 200), new Speeds(950, 380, 190), 900);

    @Test
    void everyBenchmarkRuns() throws RunnerException {
        Collection<RunResult> results = new Runner(new OptionsBuilder()
                        .include("io.millrace.benchmarks.*")
                        .param("shape", "tiny")
                        .param("threads", "1")
                        .param("rows", "1", "3")
                        .mode(Mode.SingleShotTime)
                        .forks(0)
                        .warmupIterations(0)
                        .measurementIterations(1)
                        .shouldFailOnError(true)
                        .verbosity(VerboseMode.SILENT)
                        .build())
                .run();
        // Formats times rows: linear 3, experts 2, prolog 1, indexer 2, attention 2.
        assertThat(results).hasSize(2 * (3 + 2 + 1 + 2 + 2));
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        OperatorBenchmarks.print(results, Optional.of(MACHINE), new PrintStream(printed, true, StandardCharsets.UTF_8));
        assertThat(printed.toString(StandardCharsets.UTF_8).lines())
                .filteredOn(line -> line.endsWith(" %"))
                .hasSameSizeAs(results);
    }

    @Test
    void timeIsThatOfReadingOrOfComputing() {
        assertThat(new OperatorCost(2000, 0, 0).seconds(MACHINE)).isEqualTo(2);
        assertThat(new OperatorCost(2000, 400, 200).seconds(MACHINE)).isEqualTo(4);
    }

    @Test
    void costsAreThoseOfTheShape() {
        Sizes mid = Sizes.of("mid");
        assertThat(OperatorCost.linear(mid, QuantFormat.W4A8, 4))
                .isEqualTo(new OperatorCost(6144 * 2048 * 0.5625, 4.0 * 6144 * 2048, 0));
        double expert = 3 * 2048 * 768;
        assertThat(OperatorCost.experts(mid, QuantFormat.W8A8, 1))
                .isEqualTo(new OperatorCost(9 * expert + 4 * 64 * 2048, 9 * expert, 64 * 2048));
        assertThat(OperatorCost.experts(mid, QuantFormat.W8A8, 512).bytes()).isEqualTo(65 * expert + 4 * 64 * 2048);
        assertThat(OperatorCost.indexer(mid, KvFormat.INT8, 2))
                .isEqualTo(new OperatorCost(16_384 * 128, 2.0 * 16_384 * 128 * 16, 0));
        double up = 16 * 256 * 512;
        assertThat(OperatorCost.attention(mid, KvFormat.INT8, 1))
                .isEqualTo(new OperatorCost(2048 * 576 + up, up + 16.0 * 2048 * 576, 16.0 * 2048 * 512));
        assertThat(OperatorCost.prolog(mid, 1).int8())
                .isCloseTo(
                        2048 * (768 + 576 + 128.0) + 768 * 16 * 256 + 16 * 192 * 512 + 768 * 16 * 128.0, within(0.5));
    }
}
