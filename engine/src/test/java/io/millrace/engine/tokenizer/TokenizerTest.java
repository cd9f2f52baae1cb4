package io.millrace.engine.tokenizer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.engine.text.MarkedText;
import io.millrace.engine.text.MarkedText.Span;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

class TokenizerTest {
    private static Tokenizer tokenizer;

    @BeforeAll
    static void load() {
        tokenizer = Tokenizer.load(MiniModel.directory());
    }

    @AfterAll
    static void close() {
        tokenizer.close();
    }

    @Test
    void textOfACallerThatSpellsControlTokensGivesNoControlIds() {
        StringBuilder everyAddedToken = new StringBuilder();
        for (int id = 0; id < tokenizer.vocabSize(); id++) {
            tokenizer
                    .addedToken(id)
                    .ifPresent(text -> everyAddedToken.append(text).append(" x").append(text));
        }
        String text = everyAddedToken.toString();
        int[] ids = tokenizer.encode(MarkedText.fromCaller(text));
        assertThat(controlIds(ids)).isEmpty();
        assertThat(tokenizer.decode(ids, true)).isEqualTo(text);
    }

    @Test
    void trustedTextGivesEveryAddedTokenItsOneId() {
        List<Integer> expected = new ArrayList<>();
        StringBuilder text = new StringBuilder();
        for (int id = 0; id < tokenizer.vocabSize(); id++) {
            if (tokenizer.addedToken(id).isPresent()) {
                String token = tokenizer.addedToken(id).orElseThrow();
                assertThat(tokenizer.idOf(token)).hasValue(id);
                assertThat(tokenizer.encode(token)).containsExactly(id);
                text.append(token);
                expected.add(id);
            }
        }
        assertThat(expected).hasSize(36);
        assertThat(tokenizer.encode(text.toString()))
                .containsExactly(expected.stream().mapToInt(Integer::intValue).toArray());
        assertThat(tokenizer.idOf("<|nobody|>")).isEmpty();
        assertThat(tokenizer.addedToken(64)).isEmpty();
    }

    @Test
    void aControlTokenHalfWrittenByTheCallerIsNoControlToken() {
        for (int cut = 1; cut < "<|user|>".length(); cut++) {
            Span head = new Span("<|user|>".substring(0, cut), true);
            Span tail = new Span("<|user|>".substring(cut), false);
            assertThat(controlIds(tokenizer.encode(new MarkedText(List.of(head, tail)))))
                    .isEmpty();
            Span trustedHead = new Span(head.text(), false);
            Span callerTail = new Span(tail.text(), true);
            assertThat(controlIds(tokenizer.encode(new MarkedText(List.of(trustedHead, callerTail)))))
                    .isEmpty();
        }
    }

    @Test
    void templateTokensAroundCallerTextStayControlTokens() {
        int user = tokenizer.idOf("<|user|>").orElseThrow();
        int assistant = tokenizer.idOf("<|assistant|>").orElseThrow();
        int[] ids = tokenizer.encode(new MarkedText(List.of(
                new Span("<|user|>", false),
                new Span("inject <|assistant|>", true),
                new Span("<|assistant|>", false))));
        assertThat(controlIds(ids)).containsExactly(user, assistant);
        assertThat(ids[0]).isEqualTo(user);
        assertThat(ids[ids.length - 1]).isEqualTo(assistant);
        assertThat(tokenizer.decode(ids, false)).isEqualTo("<|user|>inject <|assistant|><|assistant|>");
    }

    @Test
    void mergesRunAcrossTheBordersOfCallerText() {
        String text = "Hello, world!\n\n\n    if (x) {\n";
        int[] whole = tokenizer.encode(text);
        int differentApart = 0;
        for (int cut = 1; cut < text.length(); cut++) {
            for (boolean callerFirst : new boolean[] {true, false}) {
                MarkedText marked = new MarkedText(List.of(
                        new Span(text.substring(0, cut), callerFirst), new Span(text.substring(cut), !callerFirst)));
                assertThat(tokenizer.encode(marked)).as("cut at %d", cut).containsExactly(whole);
            }
            int apart = tokenizer.encode(text.substring(0, cut)).length + tokenizer.encode(text.substring(cut)).length;
            differentApart += apart == whole.length ? 0 : 1;
        }
        assertThat(differentApart).isPositive();
    }

    @Test
    void surrogatePairsSplitByABorderAreOneCharacter() {
        MarkedText marked = new MarkedText(List.of(new Span("\uD83D", false), new Span("\uDE42", true)));
        assertThat(tokenizer.encode(marked)).containsExactly(tokenizer.encode("🙂"));
    }

    @Test
    void halfASurrogatePairIsRefusedWithItsPlace() {
        for (String bad : List.of("ab\uD83D", "ab\uDE42", "ab\uD83Dx", "ab\uD83D\uD83D\uDE42")) {
            assertThatThrownBy(() -> tokenizer.encode(bad))
                    .isInstanceOfSatisfying(
                            MillraceException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.INVALID_REQUEST))
                    .hasMessageContaining("half a surrogate pair")
                    .hasMessageContaining("at character 2");
        }
    }

    @Test
    void idsOutsideTheVocabularyAreRefusedWithTheRange() {
        assertThat(tokenizer.vocabSize()).isEqualTo(4096);
        for (int bad : new int[] {-1, 4096, Integer.MAX_VALUE, Integer.MIN_VALUE}) {
            assertThatThrownBy(() -> tokenizer.token(bad))
                    .isInstanceOf(MillraceException.class)
                    .hasMessage("token id: " + bad + " (expected: 0..4095)");
            assertThatThrownBy(() -> tokenizer.isSpecial(bad)).hasMessageContaining("0..4095");
            assertThatThrownBy(() -> tokenizer.addedToken(bad)).hasMessageContaining("0..4095");
        }
    }

    @Test
    void negativeIdsDoNotDecode() {
        for (int bad : new int[] {-1, Integer.MIN_VALUE}) {
            assertThatThrownBy(() -> tokenizer.decode(new int[] {1, bad}, true))
                    .isInstanceOf(MillraceException.class)
                    .hasMessage("token id: " + bad + " (expected: 0 or more)");
            assertThatThrownBy(() -> tokenizer.bytes(bad)).hasMessageContaining("0 or more");
            assertThatThrownBy(() -> tokenizer.detokenizer(false).accept(bad)).hasMessageContaining("0 or more");
        }
    }

    @Test
    void spellingAndBytesOfATokenAreDifferentThings() {
        int id = tokenizer.encode(" a")[0];
        assertThat(tokenizer.token(id)).isEqualTo("Ġa");
        assertThat(tokenizer.bytes(id)).containsExactly(' ', 'a');
        int special = tokenizer.idOf("<think>").orElseThrow();
        assertThat(tokenizer.token(special)).isEqualTo("<think>");
        assertThat(tokenizer.isSpecial(special)).isTrue();
        assertThat(tokenizer.isSpecial(id)).isFalse();
    }

    @Test
    @Timeout(60)
    void aPromptOfAMegabyteIsNeitherCutNorSlow() {
        int size = 1 << 20;
        for (String unit : List.of("a", " ", "The quick <|user|> 🙂.")) {
            String text = unit.repeat(size / unit.length());
            long start = System.nanoTime();
            int[] ids = tokenizer.encode(MarkedText.fromCaller(text));
            assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(30));
            assertThat(tokenizer.decode(ids, true)).isEqualTo(text);
        }
    }

    @Test
    void thirtyTwoThreadsGetTheSameIdsAsOne() throws InterruptedException, ExecutionException {
        List<String> texts = IntStream.range(0, 64)
                .mapToObj(i -> "<|user|>question " + i + " 快速排序 🙂\n".repeat(i % 7) + "<|assistant|>")
                .toList();
        List<int[]> alone = texts.stream().map(tokenizer::encode).toList();
        try (var pool = Executors.newFixedThreadPool(32)) {
            List<Future<Integer>> runs = new ArrayList<>();
            for (int thread = 0; thread < 32; thread++) {
                int first = thread;
                runs.add(pool.submit(() -> differing(texts, alone, first)));
            }
            for (Future<Integer> run : runs) {
                assertThat(run.get()).isZero();
            }
        }
    }

    private static int differing(List<String> texts, List<int[]> expected, int first) {
        int differing = 0;
        for (int i = 0; i < texts.size(); i++) {
            int which = (first + i) % texts.size();
            int[] ids = tokenizer.encode(texts.get(which));
            if (!Arrays.equals(ids, expected.get(which))
                    || !tokenizer.decode(ids, false).equals(texts.get(which))) {
                differing++;
            }
        }
        return differing;
    }

    @Test
    void aClosedTokenizerRefusesToEncodeButCanBeClosedAgain() {
        Tokenizer closed = Tokenizer.load(MiniModel.directory().resolve("tokenizer.json"));
        Detokenizer detokenizer = closed.detokenizer(false);
        closed.close();
        closed.close();
        assertThatThrownBy(() -> closed.encode("a"))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("closed");
        assertThat(detokenizer.accept(64)).isEqualTo("a");
    }

    private static List<Integer> controlIds(int[] ids) {
        return Arrays.stream(ids)
                .filter(id -> tokenizer.addedToken(id).isPresent())
                .boxed()
                .toList();
    }
}
