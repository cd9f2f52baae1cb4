package io.millrace.engine.schedule;

import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;

/// Tells damaged weights from a prompt that breaks them: requests of different prompts that fail by broken
/// logits one after the other, without one token of any request in between. Such an instance gives no answer
/// any more, and is to end.
final class DamageWatch {
    /// So many prompts are no chance.
    static final int PROMPTS = 8;

    private final int[] prompts = new int[PROMPTS];
    private int count;

    /// A token has been drawn.
    void sound() {
        count = 0;
    }

    /// A request has failed.
    ///
    /// @return whether nothing else is to be expected
    boolean isHopeless(SequenceRequest request, MillraceException failure) {
        if (failure.code() != ErrorCode.BROKEN_LOGITS) {
            return false;
        }
        int prompt = 0;
        for (int i = 0; i < request.givenTokens(); i++) {
            prompt = 31 * prompt + request.token(i);
        }
        for (int i = 0; i < count; i++) {
            if (prompts[i] == prompt) {
                return false;
            }
        }
        prompts[count++] = prompt;
        return count == PROMPTS;
    }

    /// Why the engine ends.
    ///
    /// @param weights  what they are and where
    static MillraceException hopeless(String weights) {
        return new MillraceException(
                ErrorCode.ENGINE_FAILED,
                "the requests of " + PROMPTS + " different prompts failed by broken logits, and none came to a token"
                        + " in between: the " + weights);
    }
}
