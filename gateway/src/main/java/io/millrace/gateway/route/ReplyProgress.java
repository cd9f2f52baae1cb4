package io.millrace.gateway.route;

import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.gateway.connection.ClientConnection;
import io.millrace.gateway.generation.ChoiceReceipt;
import io.millrace.gateway.generation.Generation;
import io.millrace.gateway.generation.ReplyEvent;
import io.millrace.gateway.reply.ReplySummary;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/// The events of a running request as its own thread takes them, while it watches whether the client is
/// still there.
final class ReplyProgress {
    private static final long CHECK_MILLIS = 250;
    private static final Duration FOREVER = Duration.ofDays(1);

    private final Exchange exchange;
    private final Generation generation;
    private final ClientConnection client;
    private final GenerationJob job;
    private final @Nullable ChoiceReceipt[] receipts;
    private final List<String> reasons = new ArrayList<>();
    private int open;
    private long checkedNanos = System.nanoTime();

    /// Something to do while no event comes.
    interface Idle {
        void run() throws IOException;
    }

    ReplyProgress(Exchange exchange, Generation generation, ClientConnection client, GenerationJob job) {
        this.exchange = exchange;
        this.generation = generation;
        this.client = client;
        this.job = job;
        this.open = job.tasks().size();
        this.receipts = new @Nullable ChoiceReceipt[open];
    }

    GenerationJob job() {
        return job;
    }

    /// Whether every choice ended.
    boolean isComplete() {
        return open == 0;
    }

    boolean hasNext() {
        return generation.hasNext();
    }

    ReplyEvent next() {
        try {
            return next(FOREVER, () -> {});
        } catch (IOException e) {
            throw new IllegalStateException("idle action: failed (expected: does nothing)", e);
        }
    }

    /// Waits for the next event.
    ///
    /// @param idle  run whenever none came for `idleInterval`
    /// @throws MillraceException  `cancelled` when the client hung up; the error the exchange was stopped with
    ///                            when no more events are there
    ReplyEvent next(Duration idleInterval, Idle idle) throws IOException {
        long idleSince = System.nanoTime();
        while (true) {
            checkClient();
            ReplyEvent event = poll();
            if (event != null) {
                note(event);
                return event;
            }
            exchange.requireOngoing();
            if (System.nanoTime() - idleSince >= idleInterval.toNanos()) {
                idle.run();
                idleSince = System.nanoTime();
            }
        }
    }

    private @Nullable ReplyEvent poll() {
        try {
            return generation.poll(CHECK_MILLIS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new MillraceException(ErrorCode.SHUTTING_DOWN, "The gateway is shutting down.", e);
        }
    }

    private void checkClient() {
        long now = System.nanoTime();
        if (now - checkedNanos >= CHECK_MILLIS * 1_000_000) {
            checkedNanos = now;
            if (!client.isOpen()) {
                throw new MillraceException(ErrorCode.CANCELLED, "The client hung up.");
            }
        }
    }

    private void note(ReplyEvent event) {
        if (event instanceof ReplyEvent.Finished(int choice, ReplyEvent.Ending ending, ChoiceReceipt receipt)) {
            receipts[choice] = receipt;
            reasons.add(ending.reason().wireName());
            open--;
        }
    }

    /// What it all used; only when complete.
    ReplySummary summary() {
        List<ChoiceReceipt> all =
                Arrays.stream(receipts).map(Objects::requireNonNull).toList();
        return new ReplySummary(job.promptTokens(), all, job.options().enableMtp());
    }

    /// The clause of the request's log line.
    String outcome() {
        ReplySummary summary = summary();
        return ", prompt " + summary.promptTokens() + ", cached " + summary.cachedTokens() + ", generated "
                + summary.completionTokens() + ", finish " + String.join("+", reasons) + ", "
                + summary.timings().get("services");
    }
}
