package io.millrace.gateway.generation;

import io.grpc.Context;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/// A running request: its choices run side by side, their events come out of one bounded queue. Closing
/// it cancels
/// everything that still runs, on every leg.
public final class Generation implements AutoCloseable {
    private static final int QUEUE_EVENTS = 256;
    private static final long OFFER_MILLIS = 100;

    private final BlockingQueue<ReplyEvent> events = new ArrayBlockingQueue<>(QUEUE_EVENTS);
    private final Context.CancellableContext context = Context.ROOT.withCancellation();
    private final AtomicInteger running;
    private final Runnable whenDone;

    /// @param whenDone  runs once, when the last choice ended
    Generation(int choices, Runnable whenDone) {
        this.running = new AtomicInteger(choices);
        this.whenDone = whenDone;
    }

    /// Starts all choices. Where one cannot start, all are cancelled, and the failure is thrown.
    void start(List<ChoiceTask> tasks, Function<Consumer<ReplyEvent>, Function<ChoiceTask, Runnable>> runs) {
        int left = tasks.size();
        try {
            Function<ChoiceTask, Runnable> run = runs.apply(this::offer);
            for (ChoiceTask task : tasks) {
                Runnable choice = context.wrap(run.apply(task));
                Thread.ofVirtual()
                        .name("choice-" + task.request().getRequestId() + "-" + task.index())
                        .start(() -> runChoice(choice));
                left--;
            }
        } finally {
            if (left > 0) {
                close();
                ended(left);
            }
        }
    }

    private void runChoice(Runnable choice) {
        try {
            choice.run();
        } finally {
            ended(1);
        }
    }

    private void ended(int choices) {
        if (running.addAndGet(-choices) == 0) {
            whenDone.run();
        }
    }

    /// Waits while the receiver is slow, until nobody receives any more.
    private void offer(ReplyEvent event) {
        try {
            while (!events.offer(event, OFFER_MILLIS, TimeUnit.MILLISECONDS)) {
                ChoiceState.requireWanted();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw ChoiceState.cancelled();
        }
    }

    /// The next event of any choice; null when none came in time.
    public @Nullable ReplyEvent poll(long millis) throws InterruptedException {
        return events.poll(millis, TimeUnit.MILLISECONDS);
    }

    /// Whether an event is waiting.
    public boolean hasNext() {
        return !events.isEmpty();
    }

    @Override
    public void close() {
        context.cancel(null);
    }
}
