package io.millrace.engine.schedule;

import io.millrace.engine.kv.PagePool;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/// Decides who gets pages and which rows the next step computes. Belongs to the loop thread.
///
/// **Batch.** Every running sequence takes part in every step it can: first one row for each that
/// decodes, as somebody waits for its next token, then chunks of prompts in equal shares of what is left
/// of the step's budget; what short prompts leave of theirs goes to the oldest. The budget limits rows and,
/// by [StepBudget], time. So neither decoding nor a short prompt stalls behind a long prompt, here or in
/// another loop of the JVM, and who cancels or arrives waits for one short step.
///
/// **Pages.** A request gets the pages of its given tokens before it may import or compute anything, in
/// order of arrival; while it decodes it takes one more page each 64 tokens. A newcomer must leave one
/// free page for each running sequence, so that it is not preempted at once by those it joined. When a
/// running sequence needs a page and none is free, the newest running sequence loses all of its own: it
/// is computed again from its tokens when there is room, before any newcomer is let in. As results do not
/// depend on batches or chunks, it goes on with the very same tokens.
///
/// **Progress.** Victims are newer than the one that needs the page, and if there is none, the needy one
/// gives up its own. So the oldest sequence always keeps its pages; alone it fits, for no sequence
/// outgrows the pool. Pages of reservations that have not started cannot be taken: if they alone are in
/// the way, the oldest waits for them to start, when they become victims, or to close.
///
/// **Failures.** Who moves enters the new list before it leaves the old one, so that whatever fails in
/// between, everybody can still be told.
final class Scheduler {
    private final PagePool pool;
    private final int maxSequences;
    private final LoopCounters counters;
    private final StepBudget budget;
    private final ArrayDeque<Reservation> waiting = new ArrayDeque<>();
    private final Set<Reservation> reserved = new HashSet<>();
    private final List<Sequence> running = new ArrayList<>();
    private final List<Sequence> preempted = new ArrayList<>();

    Scheduler(PagePool pool, LoopSettings settings, LoopCounters counters) {
        this.pool = pool;
        this.maxSequences = settings.sequences();
        this.budget = new StepBudget(settings.targetMillis());
        this.counters = counters;
        publish();
    }

    List<Sequence> running() {
        return running;
    }

    List<Sequence> preempted() {
        return preempted;
    }

    ArrayDeque<Reservation> waiting() {
        return waiting;
    }

    Set<Reservation> reserved() {
        return reserved;
    }

    void enqueue(Reservation reservation) {
        waiting.add(reservation);
    }

    /// Gives pages to preempted sequences, then to newcomers, in order, as far as they go.
    void admit(long nowNanos) {
        while (!preempted.isEmpty()) {
            Sequence oldest = preempted.getFirst();
            int needed = PagePool.pagesFor(oldest.known());
            if (needed + running.size() > pool.freePages()) {
                return;
            }
            for (int i = 0; i < needed; i++) {
                oldest.addPage(pool.allocate());
            }
            insert(running, oldest);
            preempted.removeFirst();
        }
        while (!waiting.isEmpty() && reserved.size() + running.size() < maxSequences) {
            Reservation next = waiting.getFirst();
            int needed = next.blocks();
            if (needed + running.size() > pool.freePages()) {
                return;
            }
            if (!grant(next, needed, nowNanos)) {
                return;
            }
            waiting.removeFirst();
        }
    }

    /// A request nobody waits for any more is left for the next sweep.
    private boolean grant(Reservation reservation, int needed, long nowNanos) {
        int[] pages = new int[needed];
        for (int i = 0; i < needed; i++) {
            pages[i] = pool.allocate();
        }
        reserved.add(reservation);
        if (reservation.admit(pages, nowNanos)) {
            return true;
        }
        reserved.remove(reservation);
        free(pages);
        return false;
    }

    /// A reservation was closed before its start.
    void release(Reservation reservation) {
        if (reserved.remove(reservation)) {
            free(reservation.takePages());
        }
    }

    private void free(int[] pages) {
        for (int page : pages) {
            pool.free(page);
        }
    }

    void start(Reservation reservation, Sequence sequence) {
        reserved.remove(reservation);
        insert(running, sequence);
    }

    /// A sequence ended. False when it had ended before.
    boolean remove(Sequence sequence) {
        if (running.remove(sequence)) {
            sequence.releasePages(pool);
            return true;
        }
        return preempted.remove(sequence);
    }

    /// Makes the next step.
    void plan(StepPlan plan) {
        grow();
        plan.clear();
        for (Sequence sequence : running) {
            if (sequence.pending() == 1 && sequence.hasRoom()) {
                plan.add(sequence, 1);
            }
        }
        int prompts = 0;
        for (Sequence sequence : running) {
            prompts += isPrompt(sequence) ? 1 : 0;
        }
        int guaranteed = StepBudget.MIN_ROWS + plan.rows();
        for (int i = running.size() - 1; i >= 0 && plan.freeRows() > 0; i--) {
            Sequence sequence = running.get(i);
            if (isPrompt(sequence)) {
                int share = Math.ceilDiv(plan.freeRows(), prompts);
                int timely = StepBudget.rows((budget.units() - plan.units()) / prompts, sequence.computed());
                int least = Math.ceilDiv(Math.max(1, guaranteed - plan.rows()), prompts);
                plan.add(sequence, Math.min(sequence.pending(), Math.min(share, Math.max(timely, least))));
                prompts--;
            }
        }
    }

    /// The step that was planned last took so long.
    void took(StepPlan plan, long nanos) {
        budget.took(plan.rows(), plan.units(), nanos);
    }

    private static boolean isPrompt(Sequence sequence) {
        return sequence.pending() > 1 && sequence.hasRoom();
    }

    private void grow() {
        for (int i = 0; i < running.size(); i++) {
            Sequence needy = running.get(i);
            while (!needy.hasRoom() && canFreePageFor(needy)) {
                needy.addPage(pool.allocate());
            }
        }
    }

    /// Sees to it that a page is free, if need be by a preemption. False when the needy one was preempted
    /// or has to wait.
    private boolean canFreePageFor(Sequence needy) {
        while (pool.freePages() == 0) {
            Sequence newest = running.getLast();
            if (newest == needy && running.size() == 1) {
                return false;
            }
            preempt(newest);
            if (newest == needy) {
                return false;
            }
        }
        return true;
    }

    private void preempt(Sequence victim) {
        insert(preempted, victim);
        running.remove(victim);
        victim.preempt(pool);
        counters.preemptions.increment();
    }

    private static void insert(List<Sequence> ordered, Sequence sequence) {
        int at = ordered.size();
        while (at > 0 && ordered.get(at - 1).order() > sequence.order()) {
            at--;
        }
        ordered.add(at, sequence);
    }

    void publish() {
        counters.publish(new LoopCounters.Gauges(
                running.size(), waiting.size() + preempted.size(), reserved.size(), pool.freePages()));
    }
}
