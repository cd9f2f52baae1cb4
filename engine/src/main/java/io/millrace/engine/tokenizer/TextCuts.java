package io.millrace.engine.tokenizer;

import java.util.List;
import java.util.Set;
import tools.jackson.databind.JsonNode;

/// Where a text may be cut so that the ids of its pieces, one after the other, are those of the whole. The library
/// needs about a hundred bytes for a token of a text, and more time for each the longer the text is.
///
/// The known patterns split a text into words by alternatives, of which those that take a letter take nothing
/// but letters after it (`[^\r\n\p{L}\p{N}]?\p{L}+`, `'ll`). None looks behind, and `\s+(?!\S)` alone looks
/// ahead, only at what follows white space. So after a letter and before anything else a word ends in every
/// text, and no merge crosses the end of a word. What is a letter and what is none differs between versions
/// of Unicode: only characters long settled count.
final class TextCuts {
    private static final int PIECE_CHARACTERS = 16 << 10;

    /// GPT-4's, as GLM and Llama 3 have it, and Qwen's.
    private static final Set<String> KNOWN_PATTERNS = Set.of(
            "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}"
                    + "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
            "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}"
                    + "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+");

    private static final String WIDE_MARKS = "\u3001\u3002\uFF01\uFF0C\uFF1A\uFF1B\uFF1F";

    private final boolean known;
    private final int pieceCharacters;

    private TextCuts(boolean known, int pieceCharacters) {
        this.known = known;
        this.pieceCharacters = pieceCharacters;
    }

    /// @param root  a `tokenizer.json`
    static TextCuts of(JsonNode root) {
        return of(root, PIECE_CHARACTERS);
    }

    /// @param pieceCharacters  a piece ends at the first cut after so many
    static TextCuts of(JsonNode root, int pieceCharacters) {
        List<JsonNode> steps = TokenizerSteps.of(root.path("pre_tokenizer"), "pretokenizers");
        boolean known = TokenizerSteps.spelling(root) == LeastTokens.Spelling.KEPT
                && steps.size() == 2
                && isKnownSplit(steps.getFirst())
                && isPlainByteLevel(steps.getLast());
        return new TextCuts(known, pieceCharacters);
    }

    private static boolean isKnownSplit(JsonNode step) {
        return step.path("type").asString("").equals("Split")
                && KNOWN_PATTERNS.contains(step.path("pattern").path("Regex").asString(""))
                && step.path("behavior").asString("").equals("Isolated")
                && !step.path("invert").asBoolean(true);
    }

    private static boolean isPlainByteLevel(JsonNode step) {
        return step.path("type").asString("").equals("ByteLevel")
                && !step.path("add_prefix_space").asBoolean(true)
                && !step.path("use_regex").asBoolean(true);
    }

    /// End of the piece that begins at `from`.
    ///
    /// @param to  end of the text
    int next(String text, int from, int to) {
        if (!known) {
            return to;
        }
        for (int end = from + pieceCharacters; end > from && end < to; end++) {
            if (isLetter(text.charAt(end - 1)) && isNoLetter(text.charAt(end))) {
                return end;
            }
        }
        return to;
    }

    private static boolean isLetter(char c) {
        return (c >= 'a' && c <= 'z')
                || (c >= 'A' && c <= 'Z')
                || (c >= '\u4E00' && c <= '\u9FA5')
                || (c >= '\u3041' && c <= '\u3096')
                || (c >= '\u30A1' && c <= '\u30FA')
                || (c >= '\uAC00' && c <= '\uD7A3');
    }

    private static boolean isNoLetter(char c) {
        return c < 0x80 ? !isLetter(c) : WIDE_MARKS.indexOf(c) >= 0;
    }
}
