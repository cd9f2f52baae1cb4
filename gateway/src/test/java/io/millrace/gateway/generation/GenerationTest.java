package io.millrace.gateway.generation;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.grpc.Context;
import io.millrace.gateway.request.StopRules;
import io.millrace.proto.v1.GenerateRequest;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class GenerationTest {
    private final AtomicInteger done = new AtomicInteger();
    private final Generation generation = new Generation(3, done::incrementAndGet);

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2})
    void givesBackItsPlacesWhereAChoiceCannotStart(int broken) {
        List<ChoiceTask> tasks = new ArrayList<>();
        for (int index = 0; index < 3; index++) {
            tasks.add(new ChoiceTask(
                    index,
                    GenerateRequest.getDefaultInstance(),
                    new StopRules(List.of(), List.of(), false, false),
                    Optional.empty()));
        }
        AtomicInteger asked = new AtomicInteger();

        assertThatThrownBy(() -> generation.start(tasks, sink -> task -> {
                    if (asked.getAndIncrement() == broken) {
                        throw new ArithmeticException("long overflow");
                    }
                    return GenerationTest::waitForTheEnd;
                }))
                .hasMessage("long overflow");

        await().until(() -> done.get() > 0);
        assertThat(done).hasValue(1);
    }

    private static void waitForTheEnd() {
        CountDownLatch cancelled = new CountDownLatch(1);
        Context.current().addListener(_ -> cancelled.countDown(), Runnable::run);
        try {
            cancelled.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
