package io.millrace.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.it.RunningSuites.OneProcess;
import io.millrace.it.process.SeparateSuite;
import io.millrace.it.process.ServiceProcess;
import io.millrace.it.rest.Answer;
import io.millrace.it.rest.Question;
import io.millrace.it.rest.RawCall;
import java.time.Duration;
import java.util.List;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/// Four services in four processes give what one process gives, and leave nothing behind.
@ExtendWith(RunningSuites.class)
class SeparateProcessesIT {
    private static final String COMPUTED_BY_DECODE = "millrace_decode_prompt_tokens_computed_total";
    private static final String MOVED_BYTES = "millrace_kv_transfer_bytes_total";
    private static final int BLOCK_TOKENS = 64;

    private final SeparateSuite processes;
    private final OneProcess oneProcess;

    SeparateProcessesIT(SeparateSuite processes, OneProcess oneProcess) {
        this.processes = processes;
        this.oneProcess = oneProcess;
    }

    @BeforeEach
    void allRun() {
        processes.makeWhole();
    }

    static List<Question> questions() {
        return Question.assorted();
    }

    @ParameterizedTest
    @MethodSource("questions")
    void answersAreThoseOfOneProcess(Question question) {
        Answer expected = oneProcess.rest().ask(question);

        Answer whole = processes.rest().ask(question);
        Answer streamed = processes.rest().stream(question);

        assertThat(whole.choices()).isEqualTo(expected.choices());
        assertThat(whole.counted().promptTokens()).isEqualTo(expected.counted().promptTokens());
        assertThat(whole.counted().completionTokens())
                .isEqualTo(expected.counted().completionTokens());
        if (question.path().equals("/inference")) {
            assertThat(streamed.text()).isEqualTo(expected.text());
        } else {
            assertThat(streamed.choices()).isEqualTo(expected.choices());
        }
        assertThat(streamed.counted().completionTokens())
                .isEqualTo(expected.counted().completionTokens());
    }

    @Test
    void promptComesFromTheCacheTheSecondTime() {
        Question question = Question.chat("twice", Question.longText(1), "\"temperature\":0", "\"max_tokens\":16");

        Answer first = processes.rest().ask(question);
        Answer second = processes.rest().ask(question);

        int tokens = first.counted().promptTokens();
        assertThat(tokens).isGreaterThan(3 * BLOCK_TOKENS);
        assertThat(first.counted().cachedTokens()).isLessThan(BLOCK_TOKENS);
        assertThat(second.counted().cachedTokens()).isEqualTo(BLOCK_TOKENS * ((tokens - 1) / BLOCK_TOKENS));
        assertThat(second.choices()).isEqualTo(first.choices());
    }

    @Test
    void nextTurnFindsTheAnswerInTheCacheToo() {
        String prompt = Question.longText(2);
        Answer answer = processes
                .rest()
                .ask(Question.completion(
                        "turn", prompt, "\"temperature\":0", "\"max_tokens\":100", "\"ignore_eos\":true"));
        int known = answer.counted().promptTokens() + answer.counted().completionTokens();

        Answer next = processes
                .rest()
                .ask(Question.completion("next turn", prompt + answer.text() + " And", "\"max_tokens\":1"));

        // A token or two at the seam may be cut otherwise when the text is read again.
        assertThat(next.counted().cachedTokens())
                .isGreaterThan(answer.counted().promptTokens())
                .isGreaterThanOrEqualTo(BLOCK_TOKENS * ((known - 8) / BLOCK_TOKENS) - BLOCK_TOKENS);
    }

    @Test
    void decodeComputesNoTokenOfAPromptButMovesItsBlocks() {
        double computed = processes.decode().metrics().sum(COMPUTED_BY_DECODE);
        double moved = processes.decode().metrics().sum(MOVED_BYTES);
        double steps = processes.decode().metrics().sum("millrace_engine_steps_total");

        for (Question question : Question.assorted()) {
            processes.rest().ask(question);
        }

        assertThat(processes.decode().metrics().has(COMPUTED_BY_DECODE)).isTrue();
        assertThat(processes.decode().metrics().sum(COMPUTED_BY_DECODE)).isEqualTo(computed);
        assertThat(processes.decode().metrics().sum(MOVED_BYTES)).isGreaterThan(moved + 100_000);
        assertThat(processes.decode().metrics().sum("millrace_engine_steps_total"))
                .isGreaterThan(steps);
    }

    @Test
    void noLeaseStaysWhenAllIsQuiet() {
        processes.rest().ask(Question.chat("quiet", Question.longText(3), "\"max_tokens\":8"));

        Awaitility.await().atMost(Duration.ofSeconds(2)).untilAsserted(this::nothingIsHeld);
    }

    private void nothingIsHeld() {
        for (ServiceProcess holder : processes.holders()) {
            assertThat(holder.leases()).as(holder.toString()).isEqualTo("[]");
        }
    }

    @RepeatedTest(5)
    void clientThatHangsUpFreesItsSequencePagesAndLease() {
        Awaitility.await("quiet").atMost(Duration.ofSeconds(5)).untilAsserted(this::isAtBase);
        Question endless = Question.chat(
                "endless",
                Question.longText(4),
                "\"ignore_eos\":true",
                "\"max_tokens\":4000",
                "\"temperature\":1",
                "\"seed\":5");

        try (RawCall call = RawCall.stream(processes.rest().base(), endless)) {
            call.awaitChunk();
            Awaitility.await("it runs")
                    .atMost(Duration.ofSeconds(5))
                    .untilAsserted(() -> assertThat(running()).isEqualTo(1));
            assertThat(processes.decode().leases()).isNotEqualTo("[]");
        }

        Awaitility.await("free again")
                .atMost(Duration.ofSeconds(2))
                .pollInterval(Duration.ofMillis(50))
                .untilAsserted(this::isAtBase);
    }

    private double running() {
        return processes.decode().metrics().sum("vllm:num_requests_running");
    }

    private void isAtBase() {
        for (ServiceProcess engine : List.of(processes.prefill(), processes.decode())) {
            assertThat(engine.metrics().sum("vllm:num_requests_running")).isZero();
            assertThat(engine.metrics().sum("vllm:num_requests_waiting")).isZero();
            assertThat(engine.metrics().sum("vllm:kv_cache_usage_perc")).isZero();
        }
        assertThat(processes.gateway().metrics().sum("vllm:num_requests_running"))
                .isZero();
        assertThat(processes.kvCache().metrics().sum("millrace_kv_cache_pinned_bytes"))
                .isZero();
        assertThat(processes.kvCache().metrics().sum("millrace_kv_cache_tail_bytes"))
                .isZero();
        nothingIsHeld();
    }
}
