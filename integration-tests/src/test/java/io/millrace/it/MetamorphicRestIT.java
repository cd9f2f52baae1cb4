package io.millrace.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.it.RunningSuites.OneProcess;
import io.millrace.it.rest.Answer;
import io.millrace.it.rest.Question;
import io.millrace.it.rest.RestClient;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/// Ways of asking that must not matter: the bytes of the answer are the same.
@ExtendWith(RunningSuites.class)
class MetamorphicRestIT {
    private final RestClient rest;

    MetamorphicRestIT(OneProcess suite) {
        this.rest = suite.rest();
    }

    static List<Question> questions() {
        return Question.assorted();
    }

    @ParameterizedTest
    @MethodSource("questions")
    void streamGivesWhatTheWholeAnswerGives(Question question) {
        Answer whole = rest.ask(question);
        Answer streamed = rest.stream(question);

        if (question.path().equals("/inference")) {
            assertThat(streamed.text()).isEqualTo(whole.text());
        } else {
            assertThat(streamed.choices()).isEqualTo(whole.choices());
        }
        assertThat(streamed.counted().promptTokens()).isEqualTo(whole.counted().promptTokens());
        assertThat(streamed.counted().completionTokens())
                .isEqualTo(whole.counted().completionTokens());
    }

    @Test
    void hitGivesWhatTheMissGave() {
        for (String sampling : List.of("\"temperature\":0", "\"temperature\":1,\"seed\":99")) {
            Question question = Question.completion(
                    "cached", sampling + Question.longText(61), sampling, "\"max_tokens\":40", "\"logprobs\":5");

            Answer miss = rest.ask(question);
            Answer hit = rest.ask(question);
            Answer again = rest.stream(question);

            assertThat(miss.counted().cachedTokens()).isZero();
            assertThat(hit.counted().cachedTokens()).isGreaterThan(128);
            assertThat(hit.choices()).isEqualTo(miss.choices());
            assertThat(again.choices()).isEqualTo(miss.choices());
        }
    }

    @Test
    void hitOfAPartGivesWhatTheMissGave() {
        String shared = Question.longText(62);
        Question longer = Question.completion(
                "longer",
                shared + " What does item 9 cost?",
                "\"temperature\":0",
                "\"max_tokens\":24",
                "\"logprobs\":2");
        Answer miss = rest.ask(longer.with("stop_token_ids", "[]"));
        Question other = Question.completion(
                "other", shared + " What does item 11 cost, and why?", "\"temperature\":0", "\"max_tokens\":24");

        Answer part = rest.ask(other);
        Answer again = rest.ask(other);

        assertThat(part.counted().cachedTokens()).isPositive();
        assertThat(again.choices()).isEqualTo(part.choices());
        assertThat(rest.ask(longer).choices()).isEqualTo(miss.choices());
    }

    @ParameterizedTest
    @ValueSource(ints = {3, 8})
    void equalRequestsAtATimeGiveEqualAnswers(int streams) throws Exception {
        Question question = Question.chat(
                "equal",
                "What is 64 + " + streams + "?",
                "\"temperature\":1",
                "\"seed\":17",
                "\"max_tokens\":48",
                "\"logprobs\":true");
        Answer single = rest.ask(question);

        List<Question> equal = new ArrayList<>();
        for (int i = 0; i < streams; i++) {
            equal.add(question);
        }

        assertThat(askedTogether(equal)).extracting(Answer::choices).containsOnly(single.choices());
    }

    @Test
    void differentRequestsAtATimeDoNotDisturbEachOther() throws Exception {
        Map<Question, List<Answer.Choice>> alone = new HashMap<>();
        for (Question question : Question.assorted()) {
            alone.put(question, rest.ask(question).choices());
        }
        List<Question> order = new ArrayList<>(Question.assorted());
        order.addAll(Question.assorted().reversed());

        List<Answer> together = askedTogether(order);

        for (int i = 0; i < order.size(); i++) {
            assertThat(together.get(i).choices()).as("%s", order.get(i)).isEqualTo(alone.get(order.get(i)));
        }
    }

    private List<Answer> askedTogether(List<Question> questions) throws Exception {
        try (ExecutorService callers = Executors.newVirtualThreadPerTaskExecutor()) {
            List<Future<Answer>> asked = new ArrayList<>();
            for (Question question : questions) {
                asked.add(callers.submit(() -> rest.ask(question)));
            }
            List<Answer> answers = new ArrayList<>();
            for (Future<Answer> answer : asked) {
                answers.add(answer.get());
            }
            return answers;
        }
    }
}
