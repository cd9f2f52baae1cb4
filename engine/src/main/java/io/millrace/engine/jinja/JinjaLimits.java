package io.millrace.engine.jinja;

/// Bounds for one template and one rendering, so that a runaway template ends with an error.
///
/// @param maxSourceCharacters  length of a template
/// @param maxTextCharacters    length of the output and of every text in between
/// @param maxSteps             statements, operations and, in units of 64 characters, text copied
/// @param maxDepth             nesting of statements, expressions, calls and values
/// @param maxItems             length of a range or a list a template makes
/// @param maxIntegerBits       size of an integer
public record JinjaLimits(
        int maxSourceCharacters, int maxTextCharacters, long maxSteps, int maxDepth, int maxItems, int maxIntegerBits) {

    /// Far above what any chat template needs.
    public static final JinjaLimits DEFAULT = new JinjaLimits(1 << 20, 1 << 24, 20_000_000, 200, 100_000, 1 << 14);

    public JinjaLimits {
        positive("maxSourceCharacters", maxSourceCharacters);
        positive("maxTextCharacters", maxTextCharacters);
        positive("maxSteps", maxSteps);
        positive("maxDepth", maxDepth);
        positive("maxItems", maxItems);
        positive("maxIntegerBits", maxIntegerBits);
    }

    private static void positive(String name, long value) {
        if (value <= 0) {
            throw new IllegalArgumentException(name + ": " + value + " (expected: > 0)");
        }
    }
}
