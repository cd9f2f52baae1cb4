package io.millrace.gateway.served;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.engine.text.MarkedText;
import io.millrace.rpc.MetricNames;
import java.io.IOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/// With a tokenizer that holds every text in `held` until it is let go.
@Timeout(60)
class TextEncoderTest {
    private static final Duration LONG = Duration.ofSeconds(30);
    private static final String LONG_TEXT = "x".repeat(TextEncoder.SHORT_CHARACTERS + 1);

    private final SimpleMeterRegistry meters = new SimpleMeterRegistry();
    private final CountDownLatch letGo = new CountDownLatch(1);
    private final List<String> begun = new CopyOnWriteArrayList<>();
    private final AtomicReference<Thread> thread = new AtomicReference<>();
    private TextEncoder encoder = encoder(1, 1, LONG);

    private TextEncoder encoder(int threads, int maxWaiting, Duration maxWait) {
        return new TextEncoder(this::ids, new TextEncoder.Settings(threads, maxWaiting, maxWait), meters);
    }

    private int[] ids(MarkedText marked) {
        String text = marked.text();
        begun.add(text);
        thread.set(Thread.currentThread());
        if (text.startsWith("held") || text.startsWith("x")) {
            try {
                letGo.await();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
        if (text.startsWith("bad")) {
            throw new MillraceException(ErrorCode.INVALID_REQUEST, "bad text");
        }
        return new int[] {text.length()};
    }

    private CompletableFuture<int[]> start(String text) {
        CompletableFuture<int[]> ids = new CompletableFuture<>();
        Thread.ofVirtual().start(() -> {
            try {
                ids.complete(encoder.encode(MarkedText.trusted(text), () -> false));
            } catch (MillraceException e) {
                ids.completeExceptionally(e);
            }
        });
        return ids;
    }

    private double waiting(String length) {
        return meters.get(MetricNames.GATEWAY_TEXTS_WAITING)
                .tag("length", length)
                .gauge()
                .value();
    }

    private static void refused(ErrorCode code, Runnable call) {
        assertThatThrownBy(call::run)
                .isInstanceOfSatisfying(
                        MillraceException.class, e -> assertThat(e.code()).isEqualTo(code));
    }

    @AfterEach
    void close() {
        letGo.countDown();
        encoder.close();
    }

    @Test
    void tokenizesOnAThreadOfItsOwn() {
        assertThat(encoder.encode(MarkedText.trusted("Hello"), () -> false)).containsExactly(5);
        assertThat(thread.get().isVirtual()).isFalse();
        assertThat(thread.get().getName()).startsWith("tokenizer-short-");
    }

    @Test
    void handsOnWhatTheTokenizerRefuses() {
        refused(ErrorCode.INVALID_REQUEST, () -> encoder.encode(MarkedText.trusted("bad"), () -> false));
    }

    @Test
    void shortTextsDoNotWaitForLongOnes() {
        CompletableFuture<int[]> longText = start(LONG_TEXT);
        await().until(() -> begun.size() == 1);

        assertThat(encoder.encode(MarkedText.trusted("Hello"), () -> false)).containsExactly(5);

        assertThat(longText).isNotDone();
        letGo.countDown();
        assertThat(longText.join()).containsExactly(LONG_TEXT.length());
    }

    @Test
    void refusesWhatFindsNoPlaceInTheQueue() {
        CompletableFuture<int[]> first = start("held 1");
        await().until(() -> begun.size() == 1);
        CompletableFuture<int[]> second = start("held 2");
        await().until(() -> waiting("short") == 1);

        refused(ErrorCode.QUEUE_FULL, () -> encoder.encode(MarkedText.trusted("third"), () -> false));

        assertThat(meters.counter(MetricNames.ADMISSION_REJECTIONS, "reason", "tokenizer_full")
                        .count())
                .isEqualTo(1);
        letGo.countDown();
        assertThat(first.join()).containsExactly(6);
        assertThat(second.join()).containsExactly(6);
        assertThat(begun).containsExactly("held 1", "held 2");
    }

    @Test
    void refusesWhatWaitedTooLong() {
        encoder.close();
        encoder = encoder(1, 2, Duration.ofMillis(1));
        CompletableFuture<int[]> running = start("held");
        await().until(() -> begun.size() == 1);

        refused(ErrorCode.QUEUE_FULL, () -> encoder.encode(MarkedText.trusted("late"), () -> false));

        letGo.countDown();
        assertThat(running.join()).containsExactly(4);
        assertThat(begun).containsExactly("held");
    }

    @Test
    void doesNotBeginTheTextOfAClientThatLeft() {
        CompletableFuture<int[]> running = start("held");
        await().until(() -> begun.size() == 1);
        AtomicBoolean left = new AtomicBoolean();
        CompletableFuture<Void> waiter = CompletableFuture.runAsync(
                () -> refused(ErrorCode.CANCELLED, () -> encoder.encode(MarkedText.trusted("nobody's"), left::get)));
        await().until(() -> waiting("short") == 1);

        left.set(true);

        waiter.join();
        assertThat(waiting("short")).isZero();
        letGo.countDown();
        assertThat(running.join()).containsExactly(4);
        assertThat(encoder.encode(MarkedText.trusted("next"), () -> false)).containsExactly(4);
        assertThat(begun).containsExactly("held", "next");
    }

    @Test
    void tellsClientsToComeAgainWhenItIsClosed() {
        encoder.close();

        refused(ErrorCode.QUEUE_FULL, () -> encoder.encode(MarkedText.trusted("Hello"), () -> false));
    }

    @Test
    void itsThreadsHaveEndedWhenItIsClosed() {
        CompletableFuture<int[]> running = start("held");
        await().until(() -> begun.size() == 1);

        encoder.close();

        assertThat(thread.get().isAlive()).isFalse();
        assertThat(running.join()).containsExactly(4);
    }

    @Test
    void itsThreadsInheritNothingOfTheRequestThatMadeThem() throws IOException {
        Thread caller = Thread.currentThread();
        ClassLoader before = caller.getContextClassLoader();
        try (URLClassLoader ofWebApplication = new URLClassLoader(new URL[0], before)) {
            caller.setContextClassLoader(ofWebApplication);
            encoder.encode(MarkedText.trusted("Hello"), () -> false);
            assertThat(thread.get().getContextClassLoader()).isNotSameAs(ofWebApplication);
        } finally {
            caller.setContextClassLoader(before);
        }
    }
}
