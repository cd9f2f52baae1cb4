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
