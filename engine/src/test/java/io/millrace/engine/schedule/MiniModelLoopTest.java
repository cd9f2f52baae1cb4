package io.millrace.engine.schedule;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.engine.model.LoadProgress;
import io.millrace.engine.model.LoadedModel;
import io.millrace.engine.settings.EngineSettings;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/// The embedded model in the loop: its bytes do not depend on batches, chunks, imports or preemptions.
class MiniModelLoopTest {
    private static final Path MINI =
            Path.of(System.getProperty("millrace.root")).resolve("models").resolve("mini");
    private static final int PROMPT = 110;
    private static final int GENERATED = 24;
    private static final int PAGES = 40;

    private static LoadedModel model;
    private static List<SequenceRequest> requests;
    private static List<Recorder> alone;

    @BeforeAll
    static void runEachAlone() {
        model = LoadedModel.load(MINI, EngineSettings.defaults(), LoadProgress.SILENT);
        Random random = new Random(11);
        requests = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            int[] prompt =
                    Requests.tokens(random, PROMPT + 3 * i, model.config().vocabSize());
            requests.add(Requests.of(prompt, i < 3 ? GENERATED : 6, 42 + i));
        }
        alone = new ArrayList<>();
        for (SequenceRequest request : requests) {
            alone.addAll(run(List.of(request), new LoopSettings(1, 8, 256, 60_000, null), PAGES));
        }
    }

    @AfterAll
    static void closeModel() {
        model.close();
    }

    private static List<Recorder> run(List<SequenceRequest> together, LoopSettings settings, int pages) {
        try (var loop = new EngineLoop(model, settings, pages, EngineRole.DECODE)) {
            return run(loop, together);
        }
    }

    private static List<Recorder> run(EngineLoop loop, List<SequenceRequest> together) {
        loop.start();
        List<Reservation> reservations = together.stream().map(loop::reserve).toList();
        List<Recorder> recorders = new ArrayList<>();
        for (Reservation reservation : reservations) {
            Recorder recorder = new Recorder(0);
            recorders.add(recorder);
            reservation.start(Handover.nothing(), recorder);
        }
        recorders.forEach(Recorder::finish);
        assertThat(loop.stats().freePages()).isEqualTo(loop.stats().pages());
        return recorders;
    }

    private static void assertSame(List<Recorder> actual) {
        for (int i = 0; i < actual.size(); i++) {
            assertThat(actual.get(i).tokens).isEqualTo(alone.get(i).tokens);
            assertThat(actual.get(i).blocks.keySet())
                    .isEqualTo(alone.get(i).blocks.keySet());
            for (Integer block : actual.get(i).blocks.keySet()) {
                assertThat(actual.get(i).blocks.get(block))
                        .isDeepEqualTo(alone.get(i).blocks.get(block));
            }
        }
    }

    @Test
    void aBatchOfThreeGivesTheSameBytes() {
        assertSame(run(requests.subList(0, 3), new LoopSettings(3, 8, 64, 60_000, null), PAGES));
    }

    @Test
    void aBatchOfEightInOddChunksGivesTheSameBytes() {
        assertSame(run(requests, new LoopSettings(8, 8, 23, 60_000, null), PAGES));
    }

    @Test
    void preemptionGivesTheSameBytes() {
        try (var loop = new EngineLoop(model, new LoopSettings(3, 8, 128, 60_000, null), 7, EngineRole.DECODE)) {
            assertSame(run(loop, requests.subList(0, 3)));
            assertThat(loop.stats().preemptions()).isPositive();
        }
    }

    /// A cached block of NaN makes every logit of its sequence NaN.
    @Test
    void aSequenceOfBrokenLogitsFailsAloneAndSaysWhy() {
        try (var loop = new EngineLoop(model, new LoopSettings(3, 8, 64, 60_000, null), PAGES, EngineRole.DECODE)) {
            loop.start();
            Reservation broken = loop.reserve(Requests.of(requests.getFirst().promptIds(), 8, 1));
            for (int section = 0; section < loop.layout().sections(); section++) {
                byte[] ones = new byte[loop.layout().sectionBytes(section)];
                Arrays.fill(ones, (byte) 0xff);
                broken.writeSection(0, section, ones);
            }
            List<Reservation> sound =
                    requests.subList(0, 2).stream().map(loop::reserve).toList();
            Recorder failed = new Recorder(0);
            broken.start(Handover.ofBlocks(64), failed);
            List<Recorder> others = new ArrayList<>();
            for (Reservation reservation : sound) {
                Recorder recorder = new Recorder(0);
                others.add(recorder);
                reservation.start(Handover.nothing(), recorder);
            }
            others.forEach(Recorder::finish);
            assertSame(others);
            assertThatThrownBy(failed::finish).cause().isInstanceOfSatisfying(MillraceException.class, e -> {
                assertThat(e.code()).isEqualTo(ErrorCode.BROKEN_LOGITS);
                assertThat(e)
                        .hasMessage("the model produced a logit that is not a number at position 0 of the answer"
                                + " (token 0: NaN; expected: a finite number)");
            });
        }
    }

    /// What is computed from a block of NaN is NaN: it must not reach the cache.
    @Test
    void brokenKeysAreNotHandedOut() {
        int[] once = requests.getFirst().promptIds();
        int[] prompt = IntStream.range(0, 230).map(i -> once[i % once.length]).toArray();
        try (var loop = new EngineLoop(model, new LoopSettings(3, 8, 64, 60_000, null), PAGES, EngineRole.DECODE)) {
            loop.start();
            Reservation broken = loop.reserve(Requests.of(prompt, 8, 1));
            for (int section = 0; section < loop.layout().sections(); section++) {
                byte[] ones = new byte[loop.layout().sectionBytes(section)];
                Arrays.fill(ones, (byte) 0xff);
                broken.writeSection(0, section, ones);
            }
            Recorder failed = new Recorder(0);
            broken.start(Handover.ofBlocks(64), failed);
            assertThatThrownBy(failed::finish).cause().isInstanceOfSatisfying(MillraceException.class, e -> {
                assertThat(e.code()).isEqualTo(ErrorCode.BROKEN_LOGITS);
                assertThat(e).hasMessageContaining("cached keys that are not numbers");
            });
            assertThat(failed.blocks).isEmpty();
        }
    }

    @Test
    void prefillAndDecodeApartGiveTheSameBytes() {
        SequenceRequest whole = requests.getFirst();
        Recorder prefill = run(
                        List.of(Requests.prefill(whole.promptIds(), whole.seed())),
                        new LoopSettings(2, 2, 64, 60_000, null),
                        PAGES)
                .getFirst();
        assertThat(prefill.tailTokens).isEqualTo(PROMPT - 64);
        try (var loop = new EngineLoop(model, LoopSettings.defaults(), PAGES, EngineRole.DECODE)) {
            loop.start();
            Reservation reservation = loop.reserve(whole);
            byte[][] first = prefill.blocks.getOrDefault(0, new byte[0][]);
            for (int section = 0; section < loop.layout().sections(); section++) {
                reservation.writeSection(0, section, first[section]);
                reservation.writeSection(1, section, prefill.tail[section]);
            }
            Recorder decode = new Recorder(0);
            reservation.start(new Handover(PROMPT, prefill.boundaryState, prefill.tokens.getFirst()), decode);
            assertThat(decode.finish().promptTokensComputed()).isZero();
            assertThat(decode.tokens).isEqualTo(alone.getFirst().tokens);
            assertThat(decode.blocks.get(1))
                    .isDeepEqualTo(alone.getFirst().blocks.get(1));
        }
    }
}
