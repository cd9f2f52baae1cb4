package io.millrace.engine.schedule;

import io.millrace.engine.kv.KvLayout;
import io.millrace.engine.kv.PagePool;
import java.util.Arrays;

/// A started sequence: its tokens, how far they are computed, and its pages. Belongs to the loop thread;
/// only the wish to cancel comes from elsewhere.
final class Sequence {
    private static final int PAGE = KvLayout.PAGE_TOKENS;

    private final long order;
    private final SequenceRequest request;
    private final Generation generation;
    private final long queueNanos;
    private final long arrivedNanos;
    private final long startNanos;
    private int[] tokens;
    private int known;
    private int computed;
    private int computedBefore;
    private int[] pages = {};
    private float[] state = {};
    private int pageCount;
    private int exportedBlocks;
    private boolean tailDue;
    private int promptTokensComputed;
    private int preemptions;
    private long firstSampleNanos;
    private volatile boolean cancelled;

    /// @param reservation  admitted; its pages come with [#begin]
    /// @param generation   follows the generated tokens
    /// @param startNanos   now
    Sequence(Reservation reservation, Generation generation, long startNanos) {
        this.order = reservation.order();
        this.request = reservation.request();
        this.generation = generation;
        this.queueNanos = reservation.queueNanos();
        this.arrivedNanos = reservation.arrivedNanos();
        this.startNanos = startNanos;
        this.known = request.givenTokens();
        this.tokens = new int[known + 16];
        for (int i = 0; i < known; i++) {
            tokens[i] = request.token(i);
        }
        this.tailDue = request.exportTail();
    }

    /// Takes over the pages of the reservation with what was imported into them.
    ///
    /// @param given          the pages
    /// @param imported       tokens whose rows are in them
    /// @param importedState  post-final-norm state of the last of those, empty without one; owned from
    ///                       now on
    /// @param hiddenSize     width of a state
    void begin(int[] given, int imported, float[] importedState, int hiddenSize) {
        pages = given;
        pageCount = given.length;
        computed = imported;
        computedBefore = imported;
        exportedBlocks = imported / PAGE;
        state = imported == 0 ? new float[hiddenSize] : importedState;
    }

    long order() {
        return order;
    }

    SequenceRequest request() {
        return request;
    }

    Generation generation() {
        return generation;
    }

    /// Post-final-norm state of the last computed token.
    float[] state() {
        return state;
    }

    int token(int index) {
        return tokens[index];
    }

    int[] tokensOfBlock(int block) {
        return Arrays.copyOfRange(tokens, block * PAGE, (block + 1) * PAGE);
    }

    /// Tokens there are: given and sampled.
    int known() {
        return known;
    }

    /// Tokens whose rows are in the pages.
    int computed() {
        return computed;
    }

    int pending() {
        return known - computed;
    }

    void append(int token) {
        if (known == tokens.length) {
            tokens = Arrays.copyOf(tokens, known + known / 2 + 1);
        }
        tokens[known++] = token;
    }

    /// Page of each block; longer than the pages owned, the rest is not to be read.
    int[] pages() {
        return pages;
    }

    int pageCount() {
        return pageCount;
    }

    int missingPages() {
        return PagePool.pagesFor(known) - pageCount;
    }

    boolean hasRoom() {
        return missingPages() <= 0;
    }

    void addPage(int page) {
        if (pageCount == pages.length) {
            pages = Arrays.copyOf(pages, pageCount + pageCount / 2 + 1);
        }
        pages[pageCount++] = page;
    }

    /// Gives all pages back: nothing is computed any more.
    void releasePages(PagePool pool) {
        for (int i = 0; i < pageCount; i++) {
            pool.free(pages[i]);
        }
        pageCount = 0;
        computed = 0;
    }

    void preempt(PagePool pool) {
        releasePages(pool);
        preemptions++;
    }

    /// Notes that the next `rows` tokens are computed, and returns how many of them had been computed
    /// before a preemption.
    int advance(int rows) {
        int again = Math.clamp(computedBefore - computed, 0, rows);
        computed += rows;
        promptTokensComputed += Math.max(0, Math.min(computed, request.promptTokens()) - computedBefore);
        computedBefore = Math.max(computedBefore, computed);
        return again;
    }

    boolean hasBlockToExport() {
        return request.exportBlocks() && (exportedBlocks + 1) * PAGE <= computed;
    }

    /// Index of the next block to export; each comes once.
    int nextBlockToExport() {
        return exportedBlocks++;
    }

    boolean tailIsDue() {
        return tailDue && computed == request.givenTokens();
    }

    void tailIsDone() {
        tailDue = false;
    }

    void sampledFirst(long nowNanos) {
        if (firstSampleNanos == 0) {
            firstSampleNanos = nowNanos;
        }
    }

    void cancel() {
        cancelled = true;
    }

    boolean isCancelled() {
        return cancelled;
    }

    int promptTokensComputed() {
        return promptTokensComputed;
    }

    /// How long it has had its place.
    long keptNanos(long nowNanos) {
        return nowNanos - arrivedNanos;
    }

    FinishInfo finishInfo(FinishCause cause, long nowNanos) {
        long first = firstSampleNanos == 0 ? nowNanos : firstSampleNanos;
        return new FinishInfo(
                cause,
                generation.count(),
                promptTokensComputed,
                preemptions,
                queueNanos,
                first - startNanos,
                nowNanos - first);
    }
}
