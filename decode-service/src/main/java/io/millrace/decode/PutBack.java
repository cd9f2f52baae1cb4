package io.millrace.decode;

import com.google.protobuf.ByteString;
import io.grpc.Context;
import io.millrace.engine.error.MillraceException;
import io.millrace.engine.kv.BlockChain;
import io.millrace.engine.kv.BlockId;
import io.millrace.rpc.LineLimit;
import io.millrace.rpc.PutStream;
import io.millrace.rpc.generate.GenerateMessages;
import io.millrace.rpc.generate.HeldLeases;
import io.millrace.rpc.generate.SharedCache;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/// Puts the blocks a sequence fills back into the cache, so that the next turn finds them. A thread of
/// its own sends them: neither the loop nor the stream of tokens waits. Blocks that the cache does not
/// take are lost to it, not to the request.
final class PutBack {
    /// Of all sequences together: where the cache is slow, it is so for each of them.
    static final int LINES_A_MINUTE = 10;

    private static final Logger log = LoggerFactory.getLogger(PutBack.class);
    private static final int QUEUED_BLOCKS = 256;

    private final ArrayBlockingQueue<Item> queue = new ArrayBlockingQueue<>(QUEUED_BLOCKS + 1);
    private final CountDownLatch done = new CountDownLatch(1);
    private final LineLimit lines;
    private volatile boolean open;

    /// @param lines  shared by all sequences
    PutBack(LineLimit lines) {
        this.lines = lines;
    }

    private sealed interface Item {}

    @SuppressWarnings("ArrayRecordComponent") // handed over, never compared
    private record Block(int index, int[] tokens, byte[][] sections) implements Item {}

    private record End() implements Item {}

    /// Where the blocks of a sequence go.
    ///
    /// @param cache      the cache
    /// @param lease      lease that takes them
    /// @param namespace  parent of the first block
    /// @param chain      ids of the full blocks of the given tokens
    record Target(SharedCache cache, HeldLeases.Hold lease, BlockId namespace, List<BlockId> chain) {}

    /// Starts to send, in the request's context. Without it all blocks are dropped.
    void start(Target target, Executor executor) {
        open = true;
        executor.execute(Context.current().wrap(() -> run(target)));
    }

    /// Takes a block; called by the loop, does not wait.
    void offer(int index, int[] tokens, byte[][] sections) {
        if (open && !queue.offer(new Block(index, tokens, sections))) {
            // What follows a lost block has no parent in the cache.
            open = false;
            warn("the cache is too slow: block " + index + " and what follows are not put back");
        }
    }

    /// Waits until all blocks are sent, for a bounded time.
    void finish(long waitMillis) {
        if (stop()) {
            try {
                if (!done.await(waitMillis, TimeUnit.MILLISECONDS)) {
                    warn("blocks are still put back after " + waitMillis + " ms");
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private void warn(String line) {
        lines.tell(
                unsaid -> log.warn("{} more sequences waited for the cache, and had no line", unsaid),
                () -> log.warn(line));
    }

    /// Drops what is not sent.
    void abandon() {
        queue.clear();
        boolean wasOpen = stop();
        log.trace("put-back ends, was open: {}", wasOpen);
    }

    private boolean stop() {
        boolean wasOpen = open;
        open = false;
        return queue.offer(new End()) && wasOpen;
    }

    private void run(Target target) {
        try {
            List<BlockId> chain = new ArrayList<>(target.chain());
            boolean more = true;
            while (more) {
                more = send(target, chain, queue.take());
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (MillraceException e) {
            log.debug("put-back ends with its request: {}", e.getMessage());
        } finally {
            open = false;
            done.countDown();
        }
    }

    /// Sends an item and all that have queued up behind it in one stream. False at the end.
    private boolean send(Target target, List<BlockId> chain, Item first) {
        if (first instanceof End) {
            return false;
        }
        ByteString namespace = GenerateMessages.bytes(target.namespace());
        try (PutStream put = target.cache().openPut(target.lease(), namespace)) {
            Item item = first;
            boolean sent = true;
            while (item instanceof Block block) {
                if (block.index() == chain.size()) {
                    BlockId previous = chain.isEmpty() ? target.namespace() : chain.getLast();
                    chain.add(BlockChain.next(previous, block.tokens(), 0));
                }
                ByteString parent =
                        block.index() == 0 ? namespace : GenerateMessages.bytes(chain.get(block.index() - 1));
                sent = sent
                        && put.sendBlock(GenerateMessages.bytes(chain.get(block.index())), parent, block.sections());
                item = queue.poll();
            }
            put.finish();
            return sent && !(item instanceof End);
        }
    }
}
