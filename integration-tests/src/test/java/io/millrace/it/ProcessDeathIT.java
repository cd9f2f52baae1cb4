package io.millrace.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.millrace.it.RunningSuites.OneProcess;
import io.millrace.it.process.SeparateSuite;
import io.millrace.it.process.ServiceProcess;
import io.millrace.it.rest.Answer;
import io.millrace.it.rest.Question;
import io.millrace.it.rest.StreamErrorException;
import java.io.UncheckedIOException;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.extension.ExtendWith;
import tools.jackson.databind.JsonNode;

/// What a client notices when a service dies without a word: nothing, or a clear error. Each test starts
/// what another has killed; the order is the one with the fewest starts.
@ExtendWith(RunningSuites.class)
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class ProcessDeathIT {
    private static final String CACHE_FAULTS = "millrace_kv_cache_client_faults_total";
    private static final String COMPUTED_BY_DECODE = "millrace_decode_prompt_tokens_computed_total";
    private static final int LONG_PROMPT_REPEATS = 9;

    private final SeparateSuite processes;
    private final OneProcess oneProcess;

    ProcessDeathIT(SeparateSuite processes, OneProcess oneProcess) {
        this.processes = processes;
        this.oneProcess = oneProcess;
    }

    @BeforeEach
    void allRun() {
        processes.makeWhole();
    }

    private static Question talkative(int key) {
        return Question.chat(
                "talkative " + key,
                Question.longText(key),
                "\"ignore_eos\":true",
                "\"max_tokens\":300",
                "\"temperature\":1",
                "\"seed\":" + key);
    }

    /// Kills a service once so many chunks have come.
    private static Consumer<JsonNode> killAfter(int chunks, ServiceProcess victim) {
        var seen = new AtomicInteger();
        return chunk -> {
            if (seen.incrementAndGet() == chunks) {
                victim.kill();
            }
        };
    }

    /// Instances that are equally busy take turns: once the spare one has answered, the next question is the other's.
    private void awaitAnswerOfTheSpareDecode() {
        Question any = Question.completion("turn", "Hi", "\"max_tokens\":1");
        Awaitility.await("an answer of the spare decode")
                .atMost(Duration.ofSeconds(20))
                .until(() -> processes.rest().ask(any).instances("decode").contains("decode-2"));
    }

    @Test
    @Order(1)
    void deathOfTheCacheCostsNothingButComputing() {
        Question running = talkative(21);
        Question asked = Question.chat("asked before", Question.longText(22), "\"temperature\":0", "\"max_tokens\":24");
        Answer whileRunning = oneProcess.rest().ask(running);
        Answer before = processes.rest().ask(asked);

        Answer disturbed = processes.rest().stream(running, killAfter(5, processes.kvCache()));
        double faults = processes.prefill().metrics().sum(CACHE_FAULTS);
        double computed = processes.decode().metrics().sum(COMPUTED_BY_DECODE);
        Answer without = processes.rest().ask(asked);

        assertThat(disturbed.choices()).isEqualTo(whileRunning.choices());
        assertThat(without.choices()).isEqualTo(before.choices());
        assertThat(without.counted().cachedTokens()).isZero();
        assertThat(processes.prefill().metrics().sum(CACHE_FAULTS)).isGreaterThan(faults);
        assertThat(processes.decode().metrics().sum(COMPUTED_BY_DECODE)).isGreaterThan(computed);

        processes.kvCache().start();
        processes.kvCache().awaitReady();
        Awaitility.await("hits return")
                .atMost(Duration.ofSeconds(20))
                .pollInterval(Duration.ofMillis(200))
                .untilAsserted(() -> {
                    Answer again = processes.rest().ask(asked);
                    assertThat(again.choices()).isEqualTo(before.choices());
                    assertThat(again.counted().cachedTokens()).isPositive();
                });
    }

    @Test
    @Order(2)
    void deathOfPrefillLeavesThePromptToDecode() {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < LONG_PROMPT_REPEATS; i++) {
            text.append(Question.longText(100 + i)).append('\n');
        }
        Question question = Question.completion("long", text.toString(), "\"temperature\":0", "\"max_tokens\":16");
        Answer undisturbed = oneProcess.rest().ask(question);

        CompletableFuture<Answer> asked =
                CompletableFuture.supplyAsync(() -> processes.rest().ask(question));
        Awaitility.await("prefill is at it")
                .atMost(Duration.ofSeconds(5))
                .pollInterval(Duration.ofMillis(5))
                .until(() -> processes.prefill().metrics().sum("vllm:num_requests_running") > 0);
        processes.prefill().kill();
        Answer disturbed = asked.join();

        assertThat(disturbed.choices()).isEqualTo(undisturbed.choices());
        assertThat(disturbed.instances("prefill")).isEmpty();
        assertThat(processes.gateway().metrics().sum("millrace_gateway_prefill_fallbacks_total"))
                .isPositive();
        Answer after = processes.rest().ask(question);
        assertThat(after.choices()).isEqualTo(undisturbed.choices());
    }

    @Test
    @Order(3)
    void streamGoesOnAtAnotherDecodeAndEndsWithAClearErrorWhenNoneIsLeft() {
        Question question = talkative(23);
        Answer undisturbed = oneProcess.rest().ask(question);
        processes.spareDecode().start();
        processes.spareDecode().awaitReady();
        awaitAnswerOfTheSpareDecode();

        Answer disturbed = processes.rest().stream(question, killAfter(20, processes.decode()));

        assertThat(disturbed.choices()).isEqualTo(undisturbed.choices());
        assertThat(disturbed.counted().completionTokens())
                .isEqualTo(undisturbed.counted().completionTokens());
        assertThat(disturbed.receipt().required("attempts").intValue()).isGreaterThan(1);
        assertThat(disturbed.instances("decode")).containsExactly("decode-2");

        StreamErrorException error = catchThrowableOfType(
                StreamErrorException.class,
                () -> processes.rest().stream(question, killAfter(20, processes.spareDecode())));

        assertThat(error.code()).isIn("decode_unavailable", "decode_failed");
        assertThat(processes.rest().post(question.path(), question.body()).statusCode())
                .isEqualTo(503);
    }

    @Test
    @Order(4)
    @Tag("soak")
    void killsInAnyOrderNeverChangeAnAnswer() {
        long seed = Long.getLong("millrace.seed", System.nanoTime());
        System.out.println("ProcessDeathIT: -Dmillrace.seed=" + seed);
        var random = new Random(seed);
        for (int round = 0; round < 20; round++) {
            processes.makeWhole();
            processes.spareDecode().start();
            processes.spareDecode().awaitReady();
            awaitAnswerOfTheSpareDecode();
            Question question = talkative(1000 + random.nextInt(1000));
            Answer undisturbed = oneProcess.rest().ask(question);
            List<ServiceProcess> victims = List.of(processes.kvCache(), processes.prefill(), processes.decode());
            ServiceProcess victim = victims.get(random.nextInt(victims.size()));

            Answer disturbed = processes.rest().stream(question, killAfter(1 + random.nextInt(250), victim));

            assertThat(disturbed.choices())
                    .as("round %d, killed %s, %s, seed %d", round, victim, question, seed)
                    .isEqualTo(undisturbed.choices());
        }
    }

    @Test
    @Order(5)
    void deathOfTheGatewayFreesItsStreamsAndFillsNoLog() {
        List<ServiceProcess> others = List.of(processes.decode(), processes.prefill(), processes.kvCache());
        List<Integer> before = others.stream().map(each -> each.log().size()).toList();

        UncheckedIOException cut = catchThrowableOfType(
                UncheckedIOException.class,
                () -> processes.rest().stream(talkative(24), killAfter(20, processes.gateway())));

        assertThat(cut).as("what the client sees").isNotNull();
        Awaitility.await("nothing runs")
                .atMost(Duration.ofSeconds(20))
                .until(() -> processes.decode().metrics().sum("vllm:num_requests_running") == 0);
        for (int i = 0; i < others.size(); i++) {
            assertThat(others.get(i).log().stream().skip(before.get(i)))
                    .as("log of %s", others.get(i))
                    .noneMatch(line -> line.startsWith("\tat "));
        }
    }

    @Test
    @Order(6)
    void servicesToldToEndLeaveNoRequestWithoutAWord() {
        Question endless = Question.completion("endless", "1", "\"ignore_eos\":true", "\"max_tokens\":8000");
        List<ServiceProcess> all =
                List.of(processes.gateway(), processes.decode(), processes.prefill(), processes.kvCache());
        CompletableFuture<HttpResponse<String>> whole =
                CompletableFuture.supplyAsync(() -> processes.rest().post(endless.path(), endless.body()));
        Awaitility.await("one runs")
                .atMost(Duration.ofSeconds(20))
                .until(() -> processes.decode().metrics().sum("vllm:num_requests_running") > 0);
        var seen = new AtomicInteger();

        StreamErrorException error = catchThrowableOfType(
                StreamErrorException.class,
                () -> processes.rest().stream(endless, chunk -> {
                    if (seen.incrementAndGet() == 5) {
                        all.forEach(ServiceProcess::terminate);
                    }
                }));

        assertThat(error.code()).isEqualTo("shutting_down");
        assertThat(whole.join().statusCode()).isEqualTo(503);
        assertThat(whole.join().body()).contains("\"shutting_down\"");
        assertThat(whole.join().headers().firstValue("Retry-After")).isPresent();
        all.forEach(ServiceProcess::awaitEnd);
    }
}
