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
    private static final Duration FOREVER = Duration.ofNanos(Long.MAX_VALUE);

    private final Exchange exchange;
    private final Generation generation;
    private final ClientConnection client;
    private final GenerationJob job;
    private final @Nullable ChoiceReceipt[] receipts;
    private final List<String> reasons = new ArrayList<>();
    private int open;
    private long checkedNanos = System.nanoTime();

    /// Something to do while no event comes, or to learn whether the client is there.
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

    /// Waits for the next event of an answer of which nothing is written yet.
    ///
    /// @throws MillraceException  `cancelled` when the client hung up or sends no more, which then cannot be told
    ///                            apart; the error the exchange was stopped with when no more events are there
    ReplyEvent next() {
        try {
            return next(FOREVER, () -> {
                throw hungUp();
            });
        } catch (IOException e) {
            throw new IllegalStateException("idle action: failed (expected: hungUp)", e);
        }
    }

    /// Waits for the next event of a stream.
    ///
    /// @param idle  writes something: whenever no event came for `idleInterval`, and to a client that sends no more
    ///              now and then, as that fails if it is gone
    /// @throws IOException        when the client hung up
    /// @throws MillraceException  likewise, with `cancelled`; the error the exchange was stopped with when no more
    ///                            events are there
    ReplyEvent next(Duration idleInterval, Idle idle) throws IOException {
        long idleSince = System.nanoTime();
        while (true) {
            checkClient(idle);
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

    private void checkClient(Idle idle) throws IOException {
        long now = System.nanoTime();
        if (now - checkedNanos >= CHECK_MILLIS * 1_000_000) {
            checkedNanos = now;
            switch (client.presence()) {
                case THERE -> {}
                case SILENT -> idle.run();
                case GONE -> throw hungUp();
            }
        }
    }

    private static MillraceException hungUp() {
        return new MillraceException(ErrorCode.CANCELLED, "The client hung up.");
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
