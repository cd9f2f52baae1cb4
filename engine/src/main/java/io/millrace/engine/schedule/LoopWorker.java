package io.millrace.engine.schedule;

import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.engine.kv.KvLayout;
import io.millrace.engine.kv.PagePool;
import io.millrace.engine.sampling.Sampled;
import io.millrace.engine.sampling.Sampler;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.function.BooleanSupplier;
import java.util.function.LongConsumer;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/// What the loop thread does: takes commands, lets the scheduler plan a step, has the model compute it,
/// and carries the results to the sequences.
final class LoopWorker {
    private static final Logger log = LoggerFactory.getLogger(LoopWorker.class);

    private final StepModel model;
    private final Scheduler scheduler;
    private final LoopCounters counters;
    private final LongSupplier nanoClock;
    private final LongConsumer placeFreed;
    private final StepPlan plan;
    private final Sampler sampler;
    private final DamageWatch damage = new DamageWatch();
    private EngineLoop.@Nullable Command inHand;
    private long arrivals;

    /// @param placeFreed  told how long a request kept its place, when it gives it back
    LoopWorker(
            StepModel model,
            Scheduler scheduler,
            LoopSettings settings,
            LoopCounters counters,
            LongSupplier nanoClock,
            LongConsumer placeFreed) {
        this.model = model;
        this.scheduler = scheduler;
        this.counters = counters;
        this.nanoClock = nanoClock;
        this.placeFreed = placeFreed;
        this.plan = new StepPlan(settings.sequences(), settings.rows());
        this.sampler = new Sampler(model.vocabSize(), settings.sequences());
    }

    /// Runs until told to stop. What it throws is the end of the loop.
    void run(BlockingQueue<EngineLoop.Command> commands, BooleanSupplier goOn) throws InterruptedException {
        boolean idle = true;
        while (goOn.getAsBoolean()) {
            takeCommands(commands, idle);
            sweep();
            scheduler.admit(nanoClock.getAsLong());
            scheduler.plan(plan);
            scheduler.publish();
            idle = plan.isEmpty();
            if (!idle) {
                step();
            }
        }
    }

    private void takeCommands(BlockingQueue<EngineLoop.Command> commands, boolean idle) throws InterruptedException {
        EngineLoop.Command command = idle ? commands.take() : commands.poll();
        while (command != null) {
            obey(command);
            command = commands.poll();
        }
    }

    private void obey(EngineLoop.Command command) {
        inHand = command;
        switch (command) {
            case EngineLoop.Command.Admit(Reservation reservation) -> {
                reservation.number(arrivals++);
                scheduler.enqueue(reservation);
            }
            case EngineLoop.Command.Start(Reservation reservation, Sequence sequence, Handover handover) ->
                begin(reservation, sequence, handover);
            case EngineLoop.Command.Free(Reservation reservation) -> scheduler.release(reservation);
            case EngineLoop.Command.Wake() -> {}
        }
        inHand = null;
    }

    private void begin(Reservation reservation, Sequence sequence, Handover handover) {
        float[] state = importedState(reservation, handover);
        sequence.begin(reservation.takePages(), handover.importedTokens(), state, model.hiddenSize());
        scheduler.start(reservation, sequence);
        try {
            FinishCause cause = sequence.generation().replay();
            Sampled next = handover.nextToken();
            if (cause == null && next != null) {
                sequence.append(next.id());
                sequence.sampledFirst(nanoClock.getAsLong());
                cause = sequence.generation().accept(next);
            }
            finishIf(sequence, cause);
        } catch (RuntimeException e) {
            failAlone(sequence, e);
        }
    }

    private float[] importedState(Reservation reservation, Handover handover) {
        float[] given = handover.boundaryState();
        int imported = handover.importedTokens();
        if (given.length > 0 || imported == 0) {
            return given;
        }
        int page = reservation.page(imported / KvLayout.PAGE_TOKENS - 1);
        return model.pool().boundaryState(page).toArray(ValueLayout.JAVA_FLOAT_UNALIGNED);
    }

    /// Drops waiting requests whose owners gave up, and ends cancelled sequences.
    private void sweep() {
        long now = nanoClock.getAsLong();
        scheduler.waiting().removeIf(reservation -> {
            boolean gone = reservation.admission().isDone();
            if (gone) {
                placeFreed.accept(now - reservation.arrivedNanos());
            }
            return gone;
        });
        endCancelled(scheduler.running());
        endCancelled(scheduler.preempted());
    }

    private void endCancelled(List<Sequence> sequences) {
        for (int i = sequences.size() - 1; i >= 0; i--) {
            Sequence sequence = sequences.get(i);
            if (sequence.isCancelled()) {
                counters.cancelled.increment();
                fail(sequence, new MillraceException(ErrorCode.CANCELLED, "the sequence was cancelled"));
            }
        }
    }

    private void step() {
        try {
            counters.stepBegins(plan.rows(), nanoClock.getAsLong());
            addSampledRows();
            scheduler.took(plan, model.step(plan, sampler));
        } catch (RuntimeException e) {
            String failure = failure("the step failed", "a step of " + plan.rows() + " rows", e);
            for (int i = 0; i < plan.count(); i++) {
                counters.failed.increment();
                fail(plan.sequence(i), new MillraceException(ErrorCode.INTERNAL, failure, e));
            }
            return;
        } finally {
            counters.stepEnded();
        }
        counters.steps.increment();
        counters.rows.add(plan.rows());
        for (int i = 0; i < plan.count(); i++) {
            try {
                advance(i);
            } catch (RuntimeException e) {
                failAlone(plan.sequence(i), e);
            }
        }
    }

    private void addSampledRows() {
        sampler.clear();
        for (int i = 0; i < plan.count(); i++) {
            if (plan.samples(i)) {
                SequenceRequest request = plan.sequence(i).request();
                int position = plan.sequence(i).generation().count();
                sampler.add(request.sampling(), request.seed(), request.choiceIndex(), position);
            }
        }
    }

    private void advance(int index) {
        Sequence sequence = plan.sequence(index);
        model.copyState(plan.lastRow(index), sequence.state());
        int promptBefore = sequence.promptTokensComputed();
        counters.tokensRecomputed.add(sequence.advance(plan.tokens(index)));
        counters.promptTokensComputed.add(sequence.promptTokensComputed() - promptBefore);
        export(sequence);
        if (plan.samples(index)) {
            Sampled token = sampler.draw(plan.sampledIndex(index));
            damage.sound();
            counters.generatedTokens.increment();
            sequence.append(token.id());
            sequence.sampledFirst(nanoClock.getAsLong());
            finishIf(sequence, sequence.generation().accept(token));
        }
    }

    private void export(Sequence sequence) {
        SequenceListener listener = sequence.generation().listener();
        while (sequence.hasBlockToExport()) {
            int block = sequence.nextBlockToExport();
            listener.onBlock(block, sequence.tokensOfBlock(block), copy(sequence.pages()[block]));
        }
        if (sequence.tailIsDue()) {
            sequence.tailIsDone();
            int tokens = sequence.computed() % KvLayout.PAGE_TOKENS;
            byte[][] sections = tokens == 0 ? new byte[0][] : copy(sequence.pages()[sequence.pageCount() - 1]);
            listener.onTail(tokens, sections, sequence.state().clone());
        }
    }

    /// Broken keys leave the engine nowhere: others would find them in the cache when the weights have long been
    /// mended.
    private byte[][] copy(int page) {
        PagePool pool = model.pool();
        byte[][] sections = new byte[pool.layout().sections()][];
        for (int section = 0; section < sections.length; section++) {
            MemorySegment bytes = pool.section(page, section);
            sections[section] = bytes.toArray(ValueLayout.JAVA_BYTE);
            if (!pool.layout().isFinite(section, sections[section])) {
                throw new MillraceException(
                        ErrorCode.BROKEN_LOGITS,
                        "the model computed cached keys that are not numbers, in section " + section + " of a block"
                                + " (expected: finite numbers)");
            }
        }
        return sections;
    }

    private void finishIf(Sequence sequence, @Nullable FinishCause cause) {
        if (cause != null) {
            long now = nanoClock.getAsLong();
            end(sequence, now);
            counters.finished.increment();
            sequence.generation().finish(sequence.finishInfo(cause, now));
        }
    }

    /// A failure of one sequence, its listener's or stop condition's included, ends that sequence alone, unless
    /// it was one too many of its kind. One with a code of its own is told as it is.
    private void failAlone(Sequence sequence, RuntimeException cause) {
        String failure = failure("the sequence failed", "sequence " + sequence.request(), cause);
        counters.failed.increment();
        MillraceException told = cause instanceof MillraceException known && known.code() != ErrorCode.INTERNAL
                ? known
                : new MillraceException(ErrorCode.INTERNAL, failure, cause);
        fail(sequence, told);
        if (damage.isHopeless(sequence.request(), told)) {
            throw DamageWatch.hopeless(model.damage());
        }
    }

    /// Logs a failure: a known one by its reason, for where it was thrown says no more; any other with its
    /// trace.
    ///
    /// @return what to tell of it
    private static String failure(String told, String what, RuntimeException cause) {
        if (cause instanceof MillraceException known) {
            log.error("{} failed: {}", what, known.getMessage());
            log.debug("{} failed", what, known);
            return told + ": " + known.getMessage();
        }
        log.error("{} failed", what, cause);
        return told;
    }

    private void fail(Sequence sequence, MillraceException error) {
        try {
            end(sequence, nanoClock.getAsLong());
        } finally {
            tell(sequence.generation(), error);
        }
    }

    private void end(Sequence sequence, long now) {
        if (scheduler.remove(sequence)) {
            placeFreed.accept(sequence.keptNanos(now));
            scheduler.publish();
        }
    }

    private static void tell(Generation generation, MillraceException error) {
        try {
            generation.fail(error);
        } catch (RuntimeException e) {
            log.error("a listener failed on {}", error.code(), e);
        }
    }

    /// Ends what there is, each by itself: one that fails does not keep the others from being told. What the
    /// loop was about when it died may be in no list any more, and is told as well. Walks by index, as there
    /// may be no memory for more.
    ///
    /// @param why  says why, anew for each request
    void endAll(Supplier<MillraceException> why) {
        EngineLoop.Command unfinished = inHand;
        inHand = null;
        if (unfinished instanceof EngineLoop.Command.Start start) {
            endOne(start.sequence(), why);
        } else if (unfinished instanceof EngineLoop.Command.Admit admit) {
            refuse(admit.reservation(), why);
        }
        for (int i = 0; i < plan.count(); i++) {
            endOne(plan.sequence(i), why);
        }
        endEach(scheduler.running(), why);
        endEach(scheduler.preempted(), why);
        Reservation waiting = scheduler.waiting().poll();
        while (waiting != null) {
            refuse(waiting, why);
            waiting = scheduler.waiting().poll();
        }
        for (Reservation reservation : List.copyOf(scheduler.reserved())) {
            revoke(reservation);
        }
        scheduler.publish();
    }

    private void endEach(List<Sequence> sequences, Supplier<MillraceException> why) {
        for (int i = sequences.size() - 1; i >= 0; i--) {
            endOne(sequences.get(i), why);
        }
    }

    private void endOne(Sequence sequence, Supplier<MillraceException> why) {
        if (sequence.generation().isOver()) {
            return;
        }
        try {
            fail(sequence, why.get());
        } catch (Throwable e) { // loop guard: the other requests are still to be told
            LoopDeath.log(log, "a sequence could not be ended", e);
        }
    }

    /// Answers the commands left in the queue of a loop that has stopped. Any thread.
    void abandon(BlockingQueue<EngineLoop.Command> commands, Supplier<MillraceException> why) {
        EngineLoop.Command command = commands.poll();
        while (command != null) {
            switch (command) {
                case EngineLoop.Command.Admit(Reservation reservation) -> refuse(reservation, why);
                case EngineLoop.Command.Start(Reservation ignored, Sequence sequence, Handover handover) ->
                    tellLate(sequence.generation(), why);
                case EngineLoop.Command.Free(Reservation ignored) -> {}
                case EngineLoop.Command.Wake() -> {}
            }
            command = commands.poll();
        }
    }

    private static void tellLate(Generation generation, Supplier<MillraceException> why) {
        try {
            tell(generation, why.get());
        } catch (Throwable e) { // loop guard: the other commands are still to be answered
            LoopDeath.log(log, "a late sequence could not be told that the engine loop has ended", e);
        }
    }

    private void revoke(Reservation reservation) {
        try {
            reservation.revoke();
            scheduler.release(reservation);
            placeFreed.accept(0);
        } catch (Throwable e) { // loop guard: the other reservations are still to be revoked
            LoopDeath.log(log, "a reservation could not be revoked", e);
        }
    }

    private void refuse(Reservation reservation, Supplier<MillraceException> why) {
        try {
            reservation.admission().completeExceptionally(why.get());
            placeFreed.accept(0);
        } catch (Throwable e) { // loop guard: the other requests are still to be told
            LoopDeath.log(log, "a waiting request could not be told that the engine loop has ended", e);
        }
    }
}
