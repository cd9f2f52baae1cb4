package io.millrace.standalone.bench;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.millrace.kernels.nativecode.IsaLevel;
import io.millrace.kernels.nativecode.MachineLimits;
import io.millrace.kernels.nativecode.MachineLimits.Speeds;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/// The forms of a report.
class BenchReportTest {
    private static final MachineLimits LIMITS = new MachineLimits(
            IsaLevel.AVX512, 2, new Speeds(27e9, 1480e9, 348e9), new Speeds(26e9, 1400e9, 330e9), 25e9);
    private static final BenchRow ROW = new BenchRow(
            BenchWork.decode(4096, 64),
            "w8a8",
            "native",
            "auto",
            BenchRow.Speed.of(64, new double[] {4, 1, 2}),
            OptionalDouble.of(0.0285),
            Map.of("linear", 12.5),
            Optional.of(new RowCost(new RowCost.Reads(500e6), Optional.empty())),
            Optional.of(new MachineLimits(
                    IsaLevel.AVX512, 2, new Speeds(20e9, 1400e9, 300e9), new Speeds(19e9, 1120e9, 240e9), 18e9)));

    private static final BenchSetup SETUP = new BenchSetup(
            "mid",
            "int8",
            256,
            2,
            "1.2.3",
            Instant.parse("2026-01-02T03:04:05Z"),
            List.of("bench", "--model", "a/mid", "--prefill", ""),
            Map.of(),
            OptionalDouble.of(7.25));

    private static BenchReport report(Optional<MachineLimits> limits, List<BenchRow> rows) {
        return new BenchReport(limits, rows, SETUP);
    }

    // A decoded token reads that much, on a machine of these limits.
    private static BenchRow decode(double bytes, double readBytesPerSecond, double int8OpsPerSecond) {
        return new BenchRow(
                BenchWork.decode(0, 64),
                "w8a8",
                "native",
                "auto",
                BenchRow.Speed.of(64, new double[] {1}),
                OptionalDouble.empty(),
                Map.of(),
                Optional.of(new RowCost(new RowCost.Reads(bytes), Optional.empty())),
                Optional.of(new MachineLimits(
                        IsaLevel.AVX512,
                        2,
                        new Speeds(readBytesPerSecond, int8OpsPerSecond, 300e9),
                        new Speeds(readBytesPerSecond, int8OpsPerSecond, 300e9),
                        readBytesPerSecond)));
    }

    // 1000 us a token, of these 400 inside products with weights and 500 in attention; 280 M and 84 M products.
    private static BenchRow prefill(String dsa, double attentionMicros, double indexerMicros, double seconds) {
        Map<String, Double> micros = new LinkedHashMap<>();
        micros.put("mlaProlog", 100.0);
        micros.put("lightningIndexer", indexerMicros);
        micros.put("sparseMlaAttention", attentionMicros);
        micros.put("linear", 50.0);
        micros.put("gatedMlp", 50.0);
        micros.put("moeExperts", 200.0);
        micros.put("norms and sums", 100.0);
        RowCost.Attention attention = new RowCost.Attention(new RowCost.Products(70e6, 45e6), 1e6);
        return new BenchRow(
                BenchWork.prefill(0, 512, 128),
                "w8a8",
                "native",
                dsa,
                BenchRow.Speed.of(512, new double[] {seconds}),
                OptionalDouble.of(seconds / 4),
                micros,
                Optional.of(new RowCost(
                        new RowCost.Computes(new RowCost.Products(350e6, 75e6), 140e6),
                        dsa.equals("dense") ? Optional.of(attention) : Optional.empty())),
                ROW.machine());
    }

    private static BenchRow verify() {
        return new BenchRow(
                BenchWork.verify(0, 32, 4),
                "w8a8",
                "native",
                "auto",
                BenchRow.Speed.of(128, new double[] {2}),
                OptionalDouble.of(0.0575),
                Map.of(),
                Optional.of(new RowCost(new RowCost.Reads(250e6), Optional.empty())),
                ROW.machine());
    }

    @Test
    void theMedianOfTheMeasurementsCounts() {
        assertThat(ROW.speed()).isEqualTo(new BenchRow.Speed(32, 16, 64, 3));
        assertThat(BenchRow.Speed.of(6, new double[] {3, 1})).isEqualTo(new BenchRow.Speed(4, 2, 6, 2));
    }

    @Test
    void jsonHasTheMachineThenTheRows() {
        JsonNode json = JsonMapper.shared()
                .readTree(report(Optional.of(LIMITS), List.of(ROW)).json());
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
                        "rowsPerStep",
                        "readBytesPerSecond",
                        "meanReadBytesPerSecond",
                        "medianReadBytesPerSecond",
                        "int8OpsPerSecond",
                        "medianInt8OpsPerSecond",
                        "floatOpsPerSecond",
                        "medianFloatOpsPerSecond",
                        "shareOfLimit",
                        "bytesPerToken",
                        "reachedBytesPerSecond",
                        "medianStepMicros",
                        "medianStepBytesPerSecond",
                        "attentionMicrosPerToken",
                        "microsPerToken");
        assertThat(json.get(1).path("tokensPerSecond").asDouble()).isEqualTo(32);
        assertThat(json.get(1).path("limitTokensPerSecond").asDouble()).isEqualTo(40);
        // The row's own limits, not the best of the run.
        assertThat(json.get(1).path("readBytesPerSecond").asDouble()).isEqualTo(20e9);
        assertThat(json.get(1).path("int8OpsPerSecond").asDouble()).isEqualTo(1400e9);
        assertThat(json.get(1).path("bytesPerToken").asDouble()).isEqualTo(500e6);
        assertThat(json.get(1).path("reachedBytesPerSecond").asDouble()).isEqualTo(16e9);
    }

    @Test
    void jsonTellsWhatWasMeasuredUnder() {
        for (Optional<MachineLimits> limits : List.of(Optional.of(LIMITS), Optional.<MachineLimits>empty())) {
            JsonNode machine = JsonMapper.shared()
                    .readTree(report(limits, List.of(ROW)).json())
                    .get(0);
            assertThat(machine.path("phase").asString()).isEqualTo("machine");
            assertThat(machine.path("isa").asString("none")).isEqualTo(limits.isPresent() ? "avx512" : "none");
            assertThat(machine.has("int8OpsPerSecond")).isEqualTo(limits.isPresent());
            assertThat(machine.path("model").asString()).isEqualTo("mid");
            assertThat(machine.path("kv").asString()).isEqualTo("int8");
            assertThat(machine.path("chunk").asInt()).isEqualTo(256);
            assertThat(machine.path("threads").asInt()).isEqualTo(2);
            assertThat(machine.path("version").asString()).isEqualTo("1.2.3");
            assertThat(machine.path("date").asString()).isEqualTo("2026-01-02T03:04:05Z");
            assertThat(machine.path("options").valueStream().map(JsonNode::asString))
                    .containsExactly("bench", "--model", "a/mid", "--prefill", "");
            assertThat(machine.path("loadAverage").asDouble()).isEqualTo(7.25);
        }
    }

    @Test
    void rowsThatReadLittleAreToldToSayNothingAboutBandwidth() {
        String warning = "weights fit into the processor's caches where decode and verify rows read less than 200 MB a"
                + " step, so these rows say nothing about bandwidth";
        assertThat(report(Optional.empty(), List.of(decode(199e6, 20e9, 1e12))).lines())
                .contains(warning);
        // 4 rows of 250 MB; prefill reads are not counted.
        assertThat(report(Optional.empty(), List.of(decode(201e6, 20e9, 1e12), verify(), prefill("auto", 100, 25, 1)))
                        .lines())
                .noneMatch(line -> line.contains("caches"));
    }

    @Test
    void limitsThatDifferTellOfADisturbedMachine() {
        String warning = "the machine was disturbed: limits beside the rows differ ";
        String load = "; load average 7.3, own 2 threads included";
        assertThat(report(Optional.empty(), List.of(decode(500e6, 20e9, 1e12), decode(500e6, 27e9, 1.3e12)))
                        .lines())
                .contains(warning + "1.4 times (reads GB/s 20.0 .. 27.0)" + load);
        assertThat(report(Optional.empty(), List.of(decode(500e6, 20e9, 1.5e12), decode(500e6, 20e9, 1e12)))
                        .lines())
                .contains(warning + "1.5 times (int8 GOPS 1000.0 .. 1500.0)" + load);
        assertThat(report(Optional.empty(), List.of(decode(500e6, 20e9, 1e12), decode(500e6, 25e9, 1.2e12)))
                        .lines())
                .noneMatch(line -> line.contains("disturbed"));
    }

    @Test
    void memoryIsJudgedForLargeModelsOnly() {
        long mib = 1 << 20;
        assertThat(MemoryNote.of(310 * mib, 10 * mib, 2 * mib))
                .isEqualTo("peak memory in RAM: 310 MiB, of which 10 MiB are weights and 2 MiB keys");
        String aim = "; the project's aim for large models, 1,420 MiB (1.15 x 1,000 MiB of weights + 20 MiB of keys"
                + " + 250 MiB), is ";
        assertThat(MemoryNote.of(1420 * mib, 1000 * mib, 20 * mib))
                .isEqualTo("peak memory in RAM: 1,420 MiB" + aim + "met");
        assertThat(MemoryNote.of(1421 * mib, 1000 * mib, 20 * mib))
                .isEqualTo("peak memory in RAM: 1,421 MiB" + aim + "missed");
    }

    @Test
    void oneThreadIsOne() {
        BenchSetup one = new BenchSetup(
                "mid", "int8", 256, 1, "1.2.3", SETUP.date(), List.of(), Map.of(), OptionalDouble.empty());
        assertThat(new BenchReport(Optional.of(LIMITS), List.of(), one).lines().getFirst())
                .startsWith("machine: 1 thread, avx512; ");
    }

    @Test
    void jsonSaysHowMuchOfThePeakProductsReach() {
        JsonNode json = JsonMapper.shared()
                .readTree(report(Optional.empty(), List.of(prefill("dense", 500, 0, 0.512), verify()))
                        .json());
        // 2 x 140 M products are 200 us at 1400 GOPS, of 400 us inside.
        assertThat(json.get(1).path("int8ShareInWeightOperators").asDouble()).isCloseTo(0.5, within(1e-12));
        // At 1120 GOPS 250 us.
        assertThat(json.get(1).path("int8ShareOfMedianRound").asDouble()).isCloseTo(0.625, within(1e-12));
        // 2 x 70 M are 100 us, 2 x 45 M at 300 GFLOPS 300 us; the keys would take 50 us.
        assertThat(json.get(1).path("attentionShareOfLimit").asDouble()).isCloseTo(0.8, within(1e-12));
        // A quarter more each in the median round.
        assertThat(json.get(1).path("attentionShareOfMedianRound").asDouble()).isCloseTo(1, within(1e-12));
        assertThat(json.get(1).path("attentionMicrosPerToken").asDouble()).isEqualTo(500);
        // 2 x 350 M are 500 us, 2 x 75 M 500 us.
        assertThat(json.get(1).path("limitTokensPerSecond").asDouble()).isCloseTo(1000, within(1e-9));
        assertThat(json.get(1).has("bytesPerToken")).isFalse();
        assertThat(json.get(2).path("phase").asString()).isEqualTo("verify");
        assertThat(json.get(2).path("tokens").asInt()).isEqualTo(128);
        assertThat(json.get(2).path("rowsPerStep").asInt()).isEqualTo(4);
        assertThat(json.get(2).path("medianStepMicros").asDouble()).isCloseTo(57_500, within(1e-6));
        assertThat(json.get(1).has("medianStepMicros")).isFalse(); // steps of a prompt differ
        assertThat(json.get(2).has("int8ShareInWeightOperators")).isFalse();
        assertThat(json.get(2).has("attentionShareOfLimit")).isFalse();
    }

    @Test
    void attentionThatReadsLongerThanItComputesIsLimitedByReading() {
        RowCost.Attention attention = new RowCost.Attention(new RowCost.Products(70e6, 45e6), 10e6);
        assertThat(attention.limitMicros(ROW.machine().orElseThrow())).isCloseTo(500, within(1e-9));
    }

    @Test
    void figuresBelowTheTableTellWhatRowsReach() {
        List<BenchRow> rows = List.of(ROW, verify(), prefill("auto", 100, 25, 0.256), prefill("dense", 500, 0, 0.512));
        String limits = "limits 20.0 GB/s, int8 1400 GOPS, float32 300 GFLOPS; ";
        String mean = ", 89 % of the 18.0 GB/s on the average then; the median step took ";
        String round = " of the 19.0 GB/s of the median round";
        assertThat(report(Optional.empty(), rows).lines())
                .contains(
                        "  decode 64 at 4096, w8a8, auto: " + limits + "reads 500.0 MB a token, at 16.0 GB/s" + mean
                                + "28.50 ms, at 17.5 GB/s, 92 %" + round + "; attention part 0 us",
                        "  verify 128 by 4 at 0, w8a8, auto: " + limits
                                + "reads 1000.0 MB a step, 250.0 a token, at 16.0 GB/s" + mean
                                + "57.50 ms, at 17.4 GB/s, 92 %" + round,
                        "  prefill 512 at 0, w8a8, dense: " + limits
                                + "int8 products at least 50 % of the peak, 63 % of that of the median round; attention"
                                + " part 500 us; attention 80 % of its own limit, 100 % of that of the median round",
                        "time with dense attention over time with sparse attention:",
                        "  prefill 512 at 0, w8a8: attention part 4.00, whole 2.00");
    }

    @Test
    void rowsOfOtherWorkAreNotCompared() {
        List<BenchRow> rows = List.of(ROW, verify(), prefill("dense", 500, 0, 0.512));
        assertThat(BenchFigures.denseOverAuto(rows)).isEmpty();
    }

    @Test
    void theTableTellsHowMuchOfTheLimitIsReached() {
        List<String> lines = report(Optional.of(LIMITS), List.of(ROW)).lines();
        assertThat(lines.getFirst())
                .isEqualTo("machine: 2 threads, avx512; at best reads 27.0 GB/s, int8 1480 GOPS, float32 348 GFLOPS");
        assertThat(lines.get(2))
                .startsWith("decode        64     4096  w8a8 ")
                .contains("32.0  (16.0 .. 64.0, 3)")
                .endsWith("40.0   80 %");
        assertThat(lines.getLast()).isEqualTo("  decode 64 at 4096, w8a8, auto: linear 13");
    }

    @Test
    void theTableTellsTheRowsOfAStep() {
        List<String> lines = report(Optional.empty(), List.of(verify())).lines();
        assertThat(lines.get(1)).startsWith("verify 4     128        0  w8a8 ").endsWith("80.0   80 %");
    }

    @Test
    void thePlotHasABarAndAFrameForEachRow() {
        String svg = BenchPlot.svg(report(Optional.of(LIMITS), List.of(ROW)));
        assertThat(svg).startsWith("<svg ").contains("64 at 4096, w8a8, native", "32.0 (80 %)");
        assertThat(svg.split("<rect", -1)).hasSize(4);
        assertThat(BenchPlot.svg(report(Optional.empty(), List.of(verify()))))
                .contains("verify, tokens per second", "128 by 4 at 0, w8a8");
    }

    @Test
    void thePlotIsTitledAndTheFrameOfALongerBarIsSeen() {
        BenchSetup setup = new BenchSetup(
                "a<b", "int8", 256, 2, "1.2.3", SETUP.date(), List.of(), Map.of(), OptionalDouble.empty());
        // 64 tokens/s, of 20 that the limit allows.
        String svg = BenchPlot.svg(new BenchReport(Optional.of(LIMITS), List.of(decode(1e9, 20e9, 1e12)), setup));
        assertThat(svg)
                .contains("<title>a&lt;b: avx512, 2 threads, int8 keys, Millrace 1.2.3</title>")
                .contains(">a&lt;b: avx512, 2 threads, int8 keys, Millrace 1.2.3</text>");
        List<String> rects =
                svg.lines().filter(line -> line.startsWith("<rect x=")).toList();
        assertThat(rects).hasSize(2);
        assertThat(rects.get(0)).contains("height=\"16\" fill=\"#3b6ea5\"");
        // Drawn later, and higher than the bar.
        assertThat(rects.get(1)).contains("height=\"20\" fill=\"none\" stroke=\"#222222\"");
    }
}
