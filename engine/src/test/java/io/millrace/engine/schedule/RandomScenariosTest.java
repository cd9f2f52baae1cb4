package io.millrace.engine.schedule;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;

/// Whatever the loop does for scheduling, a sequence's tokens and blocks are those it gets when it is
/// alone. Replay with `-Dmillrace.test.seed=N`.
class RandomScenariosTest {
    private static final long SEED = Long.getLong("millrace.test.seed", 20_261_130L);
    private static final int SCENARIOS = 25;

    private record Job(SequenceRequest request, boolean cancelled) {}

    @Test
    void tokensAndBlocksDependOnTheSequenceAlone() throws Exception {
        long preemptions = 0;
        for (int scenario = 0; scenario < SCENARIOS; scenario++) {
            long seed = SEED + scenario;
            preemptions += scenario(new Random(seed), "millrace.test.seed=" + seed);
        }
        assertThat(preemptions).isGreaterThan(5);
    }

    private static long scenario(Random random, String name) throws Exception {
        List<Job> jobs = new ArrayList<>();
        int count = 1 + random.nextInt(12);
        for (int i = 0; i < count; i++) {
            int[] prompt = Requests.tokens(random, 1 + random.nextInt(150), FakeSteps.VOCAB);
            SequenceRequest request = Requests.of(prompt, 1 + random.nextInt(230));
            jobs.add(new Job(request, random.nextInt(8) == 0));
        }
        int sequences = 2 + random.nextInt(8);
        int pages = 6 + random.nextInt(4);
        var settings = new LoopSettings(sequences, count, sequences + random.nextInt(100), 60_000, null);
        List<Recorder> alone = new ArrayList<>();
        for (Job job : jobs) {
            alone.add(alone(job.request()));
        }
        var loop = new EngineLoop(new FakeSteps(pages), settings, EngineRole.DECODE, System::nanoTime);
        try (loop;
                ExecutorService clients = Executors.newVirtualThreadPerTaskExecutor()) {
            loop.start();
            List<Future<Recorder>> together = new ArrayList<>();
            List<Integer> order = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                order.add(i);
                together.add(null);
            }
            Collections.shuffle(order, random);
            for (int i : order) {
                together.set(i, clients.submit(() -> run(loop, jobs.get(i))));
            }
            for (int i = 0; i < count; i++) {
                check(jobs.get(i), together.get(i).get(), alone.get(i), name);
            }
            assertThat(loop.stats().freePages()).as(name).isEqualTo(pages);
            assertThat(loop.stats().runningSequences()).as(name).isZero();
            return loop.stats().preemptions();
        }
    }

    private static Recorder alone(SequenceRequest request) {
        try (var loop =
                new EngineLoop(new FakeSteps(16), LoopSettings.defaults(), EngineRole.DECODE, System::nanoTime)) {
            loop.start();
            Recorder recorder = new Recorder(0);
            loop.reserve(request).start(Handover.nothing(), recorder);
            recorder.finish();
            return recorder;
        }
    }

    private static Recorder run(EngineLoop loop, Job job) throws InterruptedException {
        Recorder recorder = new Recorder(0);
        SequenceHandle handle = loop.reserve(job.request()).start(Handover.nothing(), recorder);
        if (job.cancelled()) {
            recorder.awaitFirstTokens();
            handle.cancel();
        }
        recorder.end().exceptionally(e -> null).join();
        return recorder;
    }

    private static void check(Job job, Recorder together, Recorder alone, String name) {
        if (!together.end().isCompletedExceptionally()) {
            assertThat(together.tokens).as(name).isEqualTo(alone.tokens);
            assertThat(together.blocks.keySet()).as(name).isEqualTo(alone.blocks.keySet());
            together.blocks.forEach(
                    (index, sections) -> assertThat(sections).as(name).isDeepEqualTo(alone.blocks.get(index)));
            return;
        }
        assertThat(job.cancelled()).as(name).isTrue();
        assertThat(together.tokens).as(name).isEqualTo(alone.tokens.subList(0, together.tokens.size()));
        assertThat(together.end().exceptionNow())
                .as(name)
                .isInstanceOfSatisfying(
                        MillraceException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.CANCELLED));
    }
}
