package io.millrace.standalone.bench;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import io.millrace.kernels.nativecode.IsaLevel;
import io.millrace.kernels.nativecode.MachineLimits;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/// The forms of a report.
class BenchReportTest {
    private static final BenchRow ROW = new BenchRow(
            "decode",
            64,
            4096,
            "w8a8",
            "native",
            "auto",
            BenchRow.Speed.of(64, new double[] {4, 1, 2}),
            OptionalDouble.of(40),
            Map.of("linear", 12.5));
    private static final MachineLimits LIMITS = new MachineLimits(IsaLevel.AVX512, 2, 27e9, 1480e9, 348e9);

    @Test
    void theMedianOfTheMeasurementsCounts() {
        assertThat(ROW.speed()).isEqualTo(new BenchRow.Speed(32, 16, 64, 3));
        assertThat(BenchRow.Speed.of(6, new double[] {3, 1})).isEqualTo(new BenchRow.Speed(3, 2, 6, 2));
    }

    @Test
    void jsonHasTheMachineThenTheRows() {
        JsonNode json = JsonMapper.shared().readTree(new BenchReport(Optional.of(LIMITS), List.of(ROW)).json());
        assertThat(json).hasSize(2);
        assertThat(json.get(0).path("phase").asString()).isEqualTo("machine");
        assertThat(json.get(0).path("readBytesPerSecond").asDouble()).isEqualTo(27e9);
        assertThat(json.get(0).path("int8OpsPerSecond").asDouble()).isEqualTo(1480e9);
        assertThat(json.get(1).propertyNames())
                .containsExactly(
                        "phase",
                        "tokens",
                        "depth",
                        "profile",
                        "provider",
                        "dsa",
                        "tokensPerSecond",
                        "limitTokensPerSecond",
                        "repeats",
                        "min",
                        "max",
                        "microsPerToken");
        assertThat(json.get(1).path("tokensPerSecond").asDouble()).isEqualTo(32);
        assertThat(json.get(1).path("limitTokensPerSecond").asDouble()).isEqualTo(40);
    }

    @Test
    void theTableTellsHowMuchOfTheLimitIsReached() {
        List<String> lines = new BenchReport(Optional.of(LIMITS), List.of(ROW)).lines();
        assertThat(lines.getFirst())
                .isEqualTo("machine: 2 threads, avx512; reads 27.0 GB/s, int8 1480 GOPS, float32 348 GFLOPS");
        assertThat(lines.get(2)).contains("32.0  (16.0 .. 64.0, 3)").endsWith("40.0   80 %");
        assertThat(lines.getLast()).isEqualTo("  decode 64 at 4096, w8a8, auto: linear 13");
    }

    @Test
    void thePlotHasABarAndAFrameForEachRow() {
        String svg = BenchPlot.svg(List.of(ROW));
        assertThat(svg).startsWith("<svg ").contains("64 at 4096, w8a8, native", "32.0 (80 %)");
        assertThat(svg.split("<rect", -1)).hasSize(4);
    }

    @Test
    void figuresOfOtherProgramsAreRead() {
        List<BenchRow> rows = PeerBench.benchRows("""
                [{"model_type": "glm 3B Q8_0", "n_prompt": 512, "n_gen": 0, "n_depth": 4096, "avg_ts": 90.0,
                  "samples_ts": [80.0, 100.0, 90.0]},
                 {"model_type": "glm 3B Q8_0", "n_prompt": 0, "n_gen": 64, "n_depth": 0, "avg_ts": 20.0,
                  "samples_ts": []}]
                """);
        assertThat(rows)
                .extracting(
                        BenchRow::phase,
                        BenchRow::tokens,
                        BenchRow::depth,
                        BenchRow::profile,
                        row -> Math.round(row.speed().median()))
                .containsExactly(tuple("prefill", 512, 4096, "Q8_0", 90L), tuple("decode", 64, 0, "Q8_0", 20L));
        List<BenchRow> sweep = PeerBench.sweepRows("""
                main: some words
                {"n_kv_max": 1024, "pp": 512, "tg": 128, "n_kv": 512, "t_pp": 2.0, "speed_pp": 256.0, "speed_tg": 30.0 }
                """);
        assertThat(sweep)
                .extracting(
                        BenchRow::phase,
                        BenchRow::depth,
                        row -> Math.round(row.speed().median()))
                .containsExactly(tuple("prefill", 512, 256L), tuple("decode", 512, 30L));
    }
}
