package io.millrace.engine.jinja;

/// What one rendering may still spend.
final class Budget {
    private static final int CHARACTERS_PER_STEP = 64;

    private final JinjaLimits limits;
    private long steps;
    private int depth;

    Budget(JinjaLimits limits) {
        this.limits = limits;
    }

    void steps(long count) {
        steps += count;
        if (steps > limits.maxSteps()) {
            throw JinjaException.limit("the template runs for more than " + limits.maxSteps() + " steps");
        }
    }

    void enter() {
        steps(1);
        if (++depth > limits.maxDepth()) {
            throw JinjaException.limit("the template nests deeper than " + limits.maxDepth() + " levels");
        }
    }

    void leave() {
        depth--;
    }

    /// Accounts for a text of this length being made.
    void text(long characters) {
        text(characters, characters);
    }

    /// Accounts for a text that grows.
    ///
    /// @param characters  its length now
    /// @param added       how much of that is new
    void text(long characters, long added) {
        if (characters > limits.maxTextCharacters()) {
            throw JinjaException.limit(
                    "the template makes a text of more than " + limits.maxTextCharacters() + " characters");
        }
        steps(added / CHARACTERS_PER_STEP);
    }

    /// Accounts for a list of this length being made.
    void items(long count) {
        if (count > limits.maxItems()) {
            throw JinjaException.limit("the template makes a list of more than " + limits.maxItems() + " items");
        }
        steps(count / 8);
    }

    void integerBits(long bits) {
        if (bits > limits.maxIntegerBits()) {
            throw JinjaException.limit(
                    "the template makes an integer of more than " + limits.maxIntegerBits() + " bits");
        }
    }

    int maxDepth() {
        return limits.maxDepth();
    }
}
