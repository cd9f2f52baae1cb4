package io.millrace.engine.schedule;

import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.engine.kv.KvLayout;
import io.millrace.engine.kv.PagePool;
import io.millrace.engine.model.LoadedModel;
import java.util.Locale;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/// Runs sequences in a continuous batch. One thread owns the scheduler, the sequences and the page pool;
/// everybody else sends it commands through a bounded queue. A request first reserves pages, may import
/// cached blocks into them, then starts.
public final class EngineLoop implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(EngineLoop.class);
    private static final long CLOSE_MILLIS = 30_000;
    private static final int COMMANDS_PER_PLACE = 4;

    private final StepModel model;
    private final LoopSettings settings;
    private final EngineRole role;
    private final LongSupplier nanoClock;
    private final Semaphore places;
    private final RetryEstimate retry;
    private final ArrayBlockingQueue<Command> commands;
    private final LoopCounters counters = new LoopCounters();
    private final LoopWorker worker;
    private final int contextTokens;
    private @Nullable Thread thread;
    private volatile State state = State.NEW;
    private volatile @Nullable String death;
    private final Supplier<MillraceException> why = this::ended;
    private final MillraceException noMemory = new MillraceException(ErrorCode.ENGINE_FAILED, LoopDeath.NO_MEMORY);
    private final MillraceException unsaid = new MillraceException(ErrorCode.ENGINE_FAILED, LoopDeath.UNSAID);
    private final CompletableFuture<String> died = new CompletableFuture<>();

    private enum State {
        NEW,
        RUNNING,
        STOPPING,
        STOPPED
    }

    /// What other threads ask of the loop thread.
    sealed interface Command {
        record Admit(Reservation reservation) implements Command {}

        record Start(Reservation reservation, Sequence sequence, Handover handover) implements Command {}

        record Free(Reservation reservation) implements Command {}

        record Wake() implements Command {}
    }

    /// A loop whose pool has the size the model was loaded with (`millrace.kv.pool-tokens`).
    ///
    /// @param model     borrowed: whoever loaded it closes it, after this loop
    /// @param settings  limits
    /// @param role      decides its turn among the loops that share the model
    public EngineLoop(LoadedModel model, LoopSettings settings, EngineRole role) {
        this(model, settings, model.settings().kv().poolPages(), role);
    }

    /// @param model     borrowed: whoever loaded it closes it, after this loop
    /// @param settings  limits
    /// @param pages     pages of this loop's pool
    /// @param role      decides its turn among the loops that share the model
    public EngineLoop(LoadedModel model, LoopSettings settings, int pages, EngineRole role) {
        this(TransformerSteps.create(model, settings, pages, role), settings, role, System::nanoTime);
    }

    EngineLoop(StepModel model, LoopSettings settings, EngineRole role, LongSupplier nanoClock) {
        this.model = model;
        this.settings = settings;
        this.role = role;
        this.nanoClock = nanoClock;
        int allPlaces = settings.sequences() + settings.waiting();
        this.places = new Semaphore(allPlaces);
        this.retry = new RetryEstimate(settings.sequences());
        this.commands = new ArrayBlockingQueue<>(allPlaces * COMMANDS_PER_PLACE + 1);
        this.contextTokens = (int) Math.min(model.contextTokens(), poolTokens(model.pool()));
        var scheduler = new Scheduler(model.pool(), settings, counters);
        this.worker = new LoopWorker(model, scheduler, settings, counters, nanoClock, this::placeFreed);
    }

    private static long poolTokens(PagePool pool) {
        return (long) pool.pages() * KvLayout.PAGE_TOKENS;
    }

    /// Starts the loop thread. Idempotent.
    public synchronized void start() {
        if (state == State.NEW) {
            state = State.RUNNING;
            thread = Thread.ofPlatform()
                    .name("engine-loop-" + role.name().toLowerCase(Locale.ROOT))
                    .start(this::run);
        }
    }

    /// Whatever ends the loop, every request is answered, with the true reason, and nothing that fails on
    /// the way keeps what follows from being done. Last, whoever owns the process hears of a death.
    private void run() {
        try {
            worker.run(commands, () -> state == State.RUNNING);
        } catch (Throwable e) { // loop guard: nothing ends the thread before the requests are told
            die(e);
        }
        try {
            worker.endAll(why);
        } catch (Throwable e) { // loop guard: the queue is still to be emptied
            die(e);
        }
        state = State.STOPPED;
        try {
            worker.abandon(commands, why);
        } catch (Throwable e) { // loop guard: the death is still to be told
            LoopDeath.log(log, "the engine loop failed as it stopped", e);
        } finally {
            String reason = death;
            if (reason != null) {
                died.complete(reason);
            }
        }
    }

    /// The first reason counts. What is decided comes first and needs no memory, as there may be none; what
    /// is said comes after it, and may fail.
    private void die(Throwable cause) {
        if (death != null) {
            LoopDeath.log(log, "the engine loop failed again as it ended", cause);
            return;
        }
        death = (cause instanceof OutOfMemoryError ? noMemory : unsaid).getMessage();
        state = State.STOPPING;
        try {
            death = LoopDeath.reason(cause);
        } catch (Throwable e) { // loop guard: the constant reason stays
            LoopDeath.log(log, "the reason of a death cannot be told", e);
        }
        LoopDeath.log(log, death, cause);
    }

    /// Why requests are refused by a loop that does not run. Without memory for an exception it is one that
    /// was made in advance.
    MillraceException ended() {
        String reason = death;
        try {
            return reason == null
                    ? new MillraceException(ErrorCode.SHUTTING_DOWN, "this instance is shutting down")
                    : new MillraceException(ErrorCode.ENGINE_FAILED, reason);
        } catch (OutOfMemoryError e) {
            return noMemory;
        }
    }

    /// Completes with the reason when the loop has died of anything unexpected and all requests have been
    /// told; never otherwise. A dead loop does not come back: whoever owns the process is to end it. What
    /// depends on the stage may run on the loop thread, and must not wait for it.
    public CompletionStage<String> died() {
        return died.minimalCompletionStage();
    }

    /// Whether the loop takes requests.
    public boolean isRunning() {
        return state == State.RUNNING;
    }

    /// Most tokens a sequence can have here, prompt included: the model's context, or the pool if that is
    /// smaller.
    public int contextTokens() {
        return contextTokens;
    }

    /// Tokens the pool holds.
    public long poolTokens() {
        return poolTokens(model.pool());
    }

    /// Layout of the pages.
    public KvLayout layout() {
        return model.pool().layout();
    }

    public EngineStats stats() {
        return counters.snapshot(model.pool().pages());
    }

    /// Waits for pages for the given tokens of a request. Called from any thread but the loop's.
    ///
    /// @return the pages; to be started or closed
    /// @throws MillraceException `CONTEXT_LENGTH_EXCEEDED` or `KV_POOL_EXCEEDED` if there can never be
    ///     room for the given tokens and one more; `QUEUE_FULL` with the time to wait before a retry if
    ///     every place is taken or the wait grew too long; `CANCELLED` if the thread was interrupted;
    ///     `SHUTTING_DOWN` if the loop was stopped; `ENGINE_FAILED` with the reason if it died
    public Reservation reserve(SequenceRequest request) {
        checkFits(request);
        if (state != State.RUNNING) {
            throw ended();
        }
        if (!places.tryAcquire()) {
            counters.refused.increment();
            throw queueFull("all " + settings.sequences() + " places and " + settings.waiting()
                    + " waiting places of this instance are taken");
        }
        var reservation = new Reservation(this, request, model.pool(), nanoClock.getAsLong());
        send(new Command.Admit(reservation));
        awaitAdmission(reservation);
        return reservation;
    }

    private void checkFits(SequenceRequest request) {
        int needed = request.givenTokens() + 1;
        if (needed > model.contextTokens()) {
            throw MillraceException.ofParam(
                    ErrorCode.CONTEXT_LENGTH_EXCEEDED,
                    "prompt",
                    "prompt: " + request.givenTokens() + " tokens leave no room for one more (expected: at most "
                            + (model.contextTokens() - 1) + " of a context of " + model.contextTokens() + ")");
        }
        if (needed > poolTokens()) {
            throw MillraceException.ofParam(
                    ErrorCode.KV_POOL_EXCEEDED,
                    "prompt",
                    "prompt: " + request.givenTokens() + " tokens (expected: fewer than the " + poolTokens()
                            + " the KV pool of this instance holds)");
        }
        for (int i = 0; i < request.givenTokens(); i++) {
            int id = request.token(i);
            if (id < 0 || id >= model.vocabSize()) {
                throw MillraceException.ofParam(
                        ErrorCode.INVALID_REQUEST,
                        "prompt",
                        "token id: " + id + " (expected: 0.." + (model.vocabSize() - 1) + ")");
            }
        }
    }

    private void awaitAdmission(Reservation reservation) {
        MillraceException refusal;
        try {
            reservation.admission().get(settings.waitMillis(), TimeUnit.MILLISECONDS);
            return;
        } catch (TimeoutException e) {
            refusal = queueFull(whyNotAdmitted(reservation));
        } catch (InterruptedException e) {
            refusal = new MillraceException(ErrorCode.CANCELLED, "cancelled while it waited for pages", e);
            Thread.currentThread().interrupt();
        } catch (ExecutionException e) {
            throw e.getCause() instanceof MillraceException known
                    ? known
                    : new MillraceException(ErrorCode.INTERNAL, "admission failed", e);
        }
        if (reservation.admission().completeExceptionally(refusal)) {
            counters.refused.increment();
        } else if (reservation.admission().isCompletedExceptionally()) {
            throw ended();
        } else if (refusal.code() == ErrorCode.QUEUE_FULL) {
            return;
        } else {
            reservation.close();
        }
        wake();
        throw refusal;
    }

    private String whyNotAdmitted(Reservation reservation) {
        LoopCounters.StepUnderWay step = counters.stepUnderWay();
        if (!reservation.isNumbered() && step != null) {
            long millis = TimeUnit.NANOSECONDS.toMillis(nanoClock.getAsLong() - step.sinceNanos());
            return "not admitted within %d ms: the engine loop has been in a step of %d rows for %d ms"
                    .formatted(settings.waitMillis(), step.rows(), millis);
        }
        LoopCounters.Gauges now = counters.gauges();
        int pages = model.pool().pages();
        int held = pages - now.freePages();
        if (now.running() + now.reserved() >= settings.sequences()) {
            return ("no place became free within %d ms (all %d are taken, by %d running sequences and %d still"
                            + " importing; pages needed: %d; held: %d of %d)")
                    .formatted(
                            settings.waitMillis(),
                            settings.sequences(),
                            now.running(),
                            now.reserved(),
                            reservation.blocks(),
                            held,
                            pages);
        }
        return ("no pages became free within %d ms (needed: %d; held: %d of %d, by %d running sequences and %d"
                        + " still importing; places taken: %d of %d)")
                .formatted(
                        settings.waitMillis(),
                        reservation.blocks(),
                        held,
                        pages,
                        now.running(),
                        now.reserved(),
                        now.running() + now.reserved(),
                        settings.sequences());
    }

    private MillraceException queueFull(String why) {
        int ahead = Math.max(0, settings.sequences() + settings.waiting() - places.availablePermits());
        return new MillraceException(ErrorCode.QUEUE_FULL, why, null, retry.millis(ahead), null);
    }

    SequenceHandle start(Reservation reservation, Handover handover, SequenceListener listener) {
        var generation = new Generation(reservation.request(), listener, contextTokens);
        var sequence = new Sequence(reservation, generation, nanoClock.getAsLong());
        send(new Command.Start(reservation, sequence, handover));
        return new SequenceHandle(sequence, this::wake);
    }

    /// The place is free at once: whoever takes it queues behind this command.
    void free(Reservation reservation) {
        send(new Command.Free(reservation));
        placeFreed(nanoClock.getAsLong() - reservation.arrivedNanos());
    }

    /// The queue has room for every command that the places taken can send, so this never waits. After
    /// the loop has stopped nobody reads the queue: whoever sends then clears it.
    private void send(Command command) {
        if (!commands.offer(command)) {
            throw new IllegalStateException("the command queue of the engine loop is full");
        }
        if (state == State.STOPPED) {
            worker.abandon(commands, why);
        }
    }

    /// A full queue wakes the loop by itself.
    private void wake() {
        boolean sent = commands.offer(new Command.Wake());
        if (!sent) {
            log.debug("the engine loop is awake already");
        }
    }

    private void placeFreed(long keptNanos) {
        retry.placeKept(keptNanos);
        places.release();
    }

    /// Ends all sequences with `SHUTTING_DOWN` and takes no more; does not wait for it, and the pool stays
    /// until the loop is closed. Idempotent.
    public synchronized void stop() {
        if (state == State.RUNNING) {
            state = State.STOPPING;
            wake();
        }
    }

    /// Stops, waits for the thread and releases the pool. Idempotent.
    @Override
    public synchronized void close() {
        stop();
        Thread running = thread;
        if (running == null) {
            state = State.STOPPED;
        } else {
            try {
                running.join(CLOSE_MILLIS);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
            if (running.isAlive()) {
                log.error("the engine loop did not stop within {} ms; its memory stays", CLOSE_MILLIS);
                return;
            }
        }
        model.close();
    }
}
