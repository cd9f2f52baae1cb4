package io.millrace.engine.schedule;

import io.millrace.engine.error.MillraceException;
import io.millrace.engine.sampling.Sampled;
import java.util.List;

/// Hears what becomes of a sequence. Called on the loop thread, in order; must not block. The arrays are
/// the listener's. The last call is [#onFinish] or [#onError], exactly one of them; the sequence's pages
/// are free by then.
public interface SequenceListener {
    /// A block became full whose rows were computed here; each block once, ascending.
    ///
    /// @param blockIndex  index in the sequence
    /// @param tokens      its 64 token ids, given or generated
    /// @param sections    copies of all sections of its page
    void onBlock(int blockIndex, int[] tokens, byte[][] sections);

    /// All given tokens are computed, and no token has been sampled yet.
    ///
    /// @param tokens         tokens after the last full block, 0..63
    /// @param sections       copies of all sections of their page; none when `tokens` is 0
    /// @param boundaryState  post-final-norm state of the last token
    void onTail(int tokens, byte[][] sections, float[] boundaryState);

    /// Generated tokens that can no longer be part of a stop string.
    ///
    /// @param firstPosition  position of the first one, counted in generated tokens from 0
    /// @param tokens         at least one
    void onTokens(int firstPosition, List<Sampled> tokens);

    /// The sequence ended.
    ///
    /// @param firstPosition  position of the first of the last tokens
    /// @param lastTokens     all tokens not delivered yet; may be empty
    /// @param info           why it ended, and what it took
    void onFinish(int firstPosition, List<Sampled> lastTokens, FinishInfo info);

    /// The sequence was cancelled or failed.
    void onError(MillraceException error);
}
