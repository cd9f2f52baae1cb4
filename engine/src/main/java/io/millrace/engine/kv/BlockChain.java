package io.millrace.engine.kv;

import io.millrace.kernels.PagedRows;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.List;

/// Ids of the blocks of a token sequence: `id_0 = namespace`, `id_n = SHA-256(id_{n-1} ‖ tokens as u32
/// LE)`. Only full blocks have one.
public final class BlockChain {
    /// Tokens of a block.
    public static final int BLOCK_TOKENS = PagedRows.PAGE_TOKENS;

    private BlockChain() {}

    /// Ids of the ⌊n/64⌋ full blocks of `tokens`, in order.
    public static List<BlockId> ids(BlockId namespace, int[] tokens) {
        List<BlockId> result = new ArrayList<>(tokens.length / BLOCK_TOKENS);
        BlockId previous = namespace;
        for (int from = 0; from + BLOCK_TOKENS <= tokens.length; from += BLOCK_TOKENS) {
            previous = next(previous, tokens, from);
            result.add(previous);
        }
        return result;
    }

    /// Id of the block of `tokens[from, from + 64)` that follows `previous`, which is the namespace for
    /// the first one.
    public static BlockId next(BlockId previous, int[] tokens, int from) {
        if (from < 0 || from > tokens.length - BLOCK_TOKENS) {
            throw new IllegalArgumentException("block start: " + from + " (expected: " + BLOCK_TOKENS + " of "
                    + tokens.length + " tokens after it)");
        }
        ByteBuffer block = ByteBuffer.allocate(BLOCK_TOKENS * Integer.BYTES).order(ByteOrder.LITTLE_ENDIAN);
        for (int i = 0; i < BLOCK_TOKENS; i++) {
            block.putInt(tokens[from + i]);
        }
        MessageDigest digest = Sha256.start();
        digest.update(previous.bytes());
        return BlockId.of(digest.digest(block.array()));
    }
}
