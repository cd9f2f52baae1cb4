package io.millrace.engine.tokenizer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.millrace.engine.error.MillraceException;
import io.millrace.engine.schedule.StopCondition.Matched;
import io.millrace.engine.schedule.StopCondition.Unmatched;
import io.millrace.engine.schedule.StopCondition.Verdict;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

class StopStringsTest {
    private static final long SEED = Long.getLong("millrace.seed", 20261130L);
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
    void idsAreHeldBackWhileTheirTextCouldBecomeAStopString() {
        StopStrings stops = new StopStrings(tokenizer, List.of("abc"), false);
        assertThat(acceptAll(stops, "x", "a", "b", "a", "b", "x"))
                .containsExactly(unmatched(1), unmatched(1), unmatched(1), unmatched(3), unmatched(3), unmatched(6));
    }

    @Test
    void aMatchInsideATokenCutsTheRestOfItToo() {
        StopStrings stops = new StopStrings(tokenizer, List.of("e"), false);
        int hello = tokenizer.encode("Hello")[0];
        assertThat(tokenizer.decode(new int[] {hello}, false)).isEqualTo("Hello");
        assertThat(stops.accept(hello)).isEqualTo(new Matched("e", 4));
        assertThatThrownBy(() -> stops.accept(hello)).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void cutsAreCountedInCodePoints() {
        StopStrings stops = new StopStrings(tokenizer, List.of("🙂快"), false);
        int[] ids = tokenizer.encode("🙂快");
        Verdict last = unmatched(0);
        for (int id : ids) {
            last = stops.accept(id);
        }
        assertThat(last).isEqualTo(new Matched("🙂快", 2));
    }

    @Test
    void theFirstStopStringToBeCompleteWinsAndThenTheLongest() {
        assertThat(acceptAll(new StopStrings(tokenizer, List.of("bcd", "c"), false), "a", "b", "c"))
                .endsWith(new Matched("c", 1));
        assertThat(acceptAll(new StopStrings(tokenizer, List.of("c", "abc", "bc"), false), "a", "b", "c"))
                .endsWith(new Matched("abc", 3));
    }

    @Test
    void skippedSpecialTokensHaveNoText() {
        int user = tokenizer.idOf("<|user|>").orElseThrow();
        int a = tokenizer.encode("a")[0];
        StopStrings skipping = new StopStrings(tokenizer, List.of("aa"), true);
        assertThat(List.of(skipping.accept(a), skipping.accept(user), skipping.accept(a)))
                .containsExactly(unmatched(0), unmatched(0), new Matched("aa", 2));
        StopStrings reading = new StopStrings(tokenizer, List.of("<|user|>"), false);
        assertThat(reading.accept(user)).isEqualTo(new Matched("<|user|>", 8));
    }

    @Test
    void unusableStopStringsAreRefused() {
        for (List<String> bad : List.of(
                List.<String>of(),
                List.of(""),
                List.of("a", ""),
                List.of("\uDE42"),
                List.of("x\uD83D"),
                List.of("x".repeat(4097)),
                Collections.nCopies(65, "a"))) {
            assertThatThrownBy(() -> new StopStrings(tokenizer, bad, false))
                    .isInstanceOfSatisfying(
                            MillraceException.class, e -> assertThat(e.param()).hasValue("stop"));
        }
    }

    /// Few letters, so that stop strings and near misses are frequent; ids below 256 are single bytes, so that
    /// characters are spread over ids or never finished.
    @Test
    void agreesWithASearchOverTheWholeText() {
        Random random = new Random(SEED);
        int matches = 0;
        for (int round = 0; round < 1500; round++) {
            List<String> stops = new ArrayList<>();
            for (int i = random.nextInt(1, 4); i > 0; i--) {
                stops.add(randomText(random, random.nextInt(1, 5)));
            }
            int[] ids = randomIds(random);
            boolean skipSpecial = random.nextBoolean();
            StopStrings condition = new StopStrings(tokenizer, stops, skipSpecial);
            for (int count = 1; count <= ids.length; count++) {
                Verdict expected = naive(stops, Arrays.copyOf(ids, count), skipSpecial);
                assertThat(condition.accept(ids[count - 1]))
                        .as("seed %d, round %d, stops %s, ids %s", SEED, round, stops, Arrays.toString(ids))
                        .isEqualTo(expected);
                if (expected instanceof Matched) {
                    matches++;
                    break;
                }
            }
        }
        assertThat(matches).isBetween(200, 1400);
    }

    private static Verdict naive(List<String> stops, int[] ids, boolean skipSpecial) {
        Detokenizer detokenizer = tokenizer.detokenizer(skipSpecial);
        StringBuilder complete = new StringBuilder();
        for (int id : ids) {
            complete.append(detokenizer.accept(id));
        }
        String text = complete.toString();
        String whole = text + detokenizer.flush();
        for (int end = 1; end <= text.length(); end++) {
            String best = "";
            for (String stop : stops) {
                if (text.substring(0, end).endsWith(stop) && stop.length() > best.length()) {
                    best = stop;
                }
            }
            if (!best.isEmpty()) {
                int start = end - best.length();
                return new Matched(best, whole.codePointCount(start, whole.length()));
            }
        }
        int open = text.length();
        for (int start = text.length() - 1; start >= 0; start--) {
            String ending = text.substring(start);
            if (stops.stream().anyMatch(stop -> stop.startsWith(ending))) {
                open = start;
            }
        }
        return unmatched(idsEndingBy(ids, open, skipSpecial));
    }

    /// How many leading ids have all their bytes in the first `chars` characters of the complete text: adding bytes to
    /// them changes nothing there, and what comes after them begins at or before that place.
    private static int idsEndingBy(int[] ids, int chars, boolean skipSpecial) {
        String whole = tokenizer.decode(ids, skipSpecial);
        int count = 0;
        while (count < ids.length) {
            Detokenizer detokenizer = tokenizer.detokenizer(skipSpecial);
            StringBuilder text = new StringBuilder();
            for (int i = 0; i <= count; i++) {
                text.append(detokenizer.accept(ids[i]));
            }
            int end = text.length();
            if (detokenizer.isMidCharacter()) {
                // It ends with the character these bytes become part of, if that one is there already.
                boolean finished = false;
                for (int i = count + 1; i < ids.length && !finished; i++) {
                    finished = !detokenizer.accept(ids[i]).isEmpty();
                }
                if (!finished) {
                    return count;
                }
                end += Character.charCount(whole.codePointAt(end));
            }
            if (end > chars) {
                return count;
            }
            count++;
        }
        return count;
    }

    private static int[] randomIds(Random random) {
        int[] ids = tokenizer.encode(randomText(random, random.nextInt(1, 30)));
        for (int i = 0; i < ids.length; i++) {
            switch (random.nextInt(12)) {
                case 0 -> ids[i] = random.nextInt(256);
                case 1 -> ids[i] = tokenizer.idOf("<think>").orElseThrow();
                default -> {}
            }
        }
        return ids;
    }

    private static String randomText(Random random, int letters) {
        String[] alphabet = {"a", "b", "a", "b", "🙂", "🙃", "快", "ab", "é", "\uFFFD"};
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < letters; i++) {
            text.append(alphabet[random.nextInt(alphabet.length)]);
        }
        return text.toString();
    }

    private static List<Verdict> acceptAll(StopStrings stops, String... letters) {
        List<Verdict> verdicts = new ArrayList<>();
        for (String letter : letters) {
            verdicts.add(stops.accept(tokenizer.encode(letter)[0]));
        }
        return verdicts;
    }

    private static Verdict unmatched(int releasable) {
        return new Unmatched(releasable);
    }
}
