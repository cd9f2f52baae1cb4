package io.millrace.standalone.bench;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PeerFiguresTest {
    @Test
    void figuresOfOtherProgramsAreRead() {
        List<BenchRow> rows = PeerFigures.ofBench("""
                [{"model_type": "glm 3B Q8_0", "n_prompt": 512, "n_gen": 0, "n_depth": 4096, "avg_ts": 90.0,
                  "samples_ts": [80.0, 100.0, 90.0]},
                 {"model_type": "glm 3B Q8_0", "n_prompt": 0, "n_gen": 64, "n_depth": 0, "avg_ts": 20.0,
                  "samples_ts": []}]
                """).rows();
        assertThat(rows)
                .extracting(
                        row -> row.work().phase(),
                        row -> row.work().tokens(),
                        row -> row.work().depth(),
                        BenchRow::profile,
                        row -> Math.round(row.speed().median()))
                .containsExactly(
                        tuple(BenchPhase.PREFILL, 512, 4096, "Q8_0", 90L),
                        tuple(BenchPhase.DECODE, 64, 0, "Q8_0", 20L));
        List<BenchRow> sweep = PeerFigures.ofSweep("""
                main: some words
                {"n_kv_max": 1024, "pp": 512, "tg": 128, "n_kv": 512, "t_pp": 2.0, "speed_pp": 256.0, "speed_tg": 30.0 }
                """).rows();
        assertThat(sweep)
                .extracting(
                        row -> row.work().phase(),
                        row -> row.work().depth(),
                        row -> Math.round(row.speed().median()))
                .containsExactly(tuple(BenchPhase.PREFILL, 512, 256L), tuple(BenchPhase.DECODE, 512, 30L));
    }

    // As a build of llama.cpp of May 2026 prints them, without the fields that are not read.
    @Test
    void rowsOfLlamaBenchAreItsSamples() {
        PeerFigures figures = PeerFigures.ofBench("""
                [
                  {
                    "build_commit": "unknown",
                    "model_filename": "tiny.gguf",
                    "model_type": "llama ?B Q8_0",
                    "n_threads": 1,
                    "tensor_split": "0.00",
                    "n_prompt": 64,
                    "n_gen": 0,
                    "n_depth": 300,
                    "avg_ts": 1830.845000,
                    "stddev_ts": 100.260000,
                    "samples_ns": [ 36365000, 33653000 ],
                    "samples_ts": [ 1759.95, 1901.74 ]
                  }
                ]
                """);
        assertThat(figures.fault()).isEmpty();
        assertThat(figures.rows())
                .extracting(BenchRow::work, BenchRow::profile, BenchRow::speed)
                .containsExactly(tuple(
                        BenchWork.prefill(300, 64, 64), "Q8_0", new BenchRow.Speed(1830.845, 1759.95, 1901.74, 2)));
    }

    // As a build of ik_llama.cpp of August 2026 prints them, on standard error.
    @Test
    void rowsOfASweepStandAmongOtherLines() {
        PeerFigures figures = PeerFigures.ofSweep("""
                llama_init_from_model: graph splits = 1
                {"n_kv_max": 1024, "n_batch": 2048, "n_ubatch": 512, "flash_attn": 1, "n_gpu_layers": -1, \
                "n_threads": 2, "n_threads_batch": 2, "pp": 512, "tg": 128, "n_kv": 512, "t_pp": 0.525752, \
                "speed_pp": 973.843140, "t_tg": 4.862284, "speed_tg": 26.325075 }

                llama_print_timings:        load time =     811.22 ms
                """);
        assertThat(figures.fault()).isEmpty();
        assertThat(figures.rows())
                .extracting(BenchRow::work, row -> row.speed().median())
                .containsExactly(
                        tuple(BenchWork.prefill(512, 512, 512), 973.843140),
                        tuple(BenchWork.decode(512, 128), 26.325075));
    }

    @ParameterizedTest
    @CsvSource({
        "qwen3moe 30B.A3B Q4_K - Medium, Q4_K_M",
        "llama 8B Q3_K - Large, Q3_K_L",
        "llama 70B IQ2_XXS - 2.0625 bpw, IQ2_XXS",
        "deepseek2 671B IQ3_S mix - 3.66 bpw, IQ3_S",
        "llama 1B all F32, F32",
        "glm 9B (guessed) Q8_0, Q8_0",
        "glm ?B Q8_0, Q8_0",
        "glm Q8_0, Q8_0",
        "Q8_0, Q8_0",
        "'', gguf"
    })
    void theQuantisationIsWhatFollowsArchitectureAndSize(String modelType, String profile) {
        List<BenchRow> rows = PeerFigures.ofBench(
                        "[{\"model_type\": \"" + modelType + "\", \"n_prompt\": 8, \"n_gen\": 0, \"avg_ts\": 2}]")
                .rows();
        assertThat(rows).extracting(BenchRow::profile).containsExactly(profile);
    }
}
