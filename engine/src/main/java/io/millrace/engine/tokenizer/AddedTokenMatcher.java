package io.millrace.engine.tokenizer;

import io.millrace.engine.text.MarkedText;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/// Finds added tokens in a text, from left to right and the longest first, only where every one of a
/// token's characters is trusted. White space that a token takes along, and the neighbours that decide
/// about whole words, may come from a caller: that changes no control id. Tokens with `normalized` are
/// looked for between the others.
///
/// Otherwise the rules are those of Hugging Face's `AddedVocabulary`, so that trusted text gives the ids
/// it gives there.
final class AddedTokenMatcher {

    /// A token found at `[start, end)`, the white space taken along included.
    record Match(int start, int end, int id) {}

    /// Tokens of one pass by first character; within one, the longest first.
    private static final class Pass {
        private final char[] firstChars; // sorted
        private final AddedToken[][] candidates; // of each first character

        Pass(char[] firstChars, AddedToken[][] candidates) {
            this.firstChars = firstChars;
            this.candidates = candidates;
        }
    }

    private final List<Pass> passes;

    AddedTokenMatcher(List<AddedToken> tokens) {
        passes = List.of(pass(tokens, false), pass(tokens, true));
    }

    private static Pass pass(List<AddedToken> tokens, boolean normalized) {
        List<AddedToken> mine = tokens.stream()
                .filter(token -> token.normalized() == normalized)
                .sorted(Comparator.comparingInt(
                        (AddedToken token) -> -token.content().length()))
                .toList();
        StringBuilder firsts = new StringBuilder();
        mine.stream()
                .map(token -> token.content().charAt(0))
                .distinct()
                .sorted()
                .forEach(firsts::append);
        char[] firstChars = firsts.toString().toCharArray();
        AddedToken[][] candidates = new AddedToken[firstChars.length][];
        for (int i = 0; i < firstChars.length; i++) {
            char first = firstChars[i];
            candidates[i] = mine.stream()
                    .filter(token -> token.content().charAt(0) == first)
                    .toArray(AddedToken[]::new);
        }
        return new Pass(firstChars, candidates);
    }

    /// Matches in order; they do not overlap.
    List<Match> find(MarkedText marked, String text) {
        List<Match> found = List.of();
        for (Pass pass : passes) {
            if (pass.firstChars.length > 0) {
                found = findBetween(pass, marked, text, found);
            }
        }
        return found;
    }

    private static List<Match> findBetween(Pass pass, MarkedText marked, String text, List<Match> earlier) {
        List<Match> all = new ArrayList<>();
        int from = 0;
        for (Match match : earlier) {
            new Scan(pass, text, from, match.start()).run(marked, all);
            all.add(match);
            from = match.end();
        }
        new Scan(pass, text, from, text.length()).run(marked, all);
        return all;
    }

    /// One pass over the stretch `[from, to)`.
    private static final class Scan {
        private final Pass pass;
        private final String text;
        private final int from;
        private final int to;
        private int taken;

        Scan(Pass pass, String text, int from, int to) {
            this.pass = pass;
            this.text = text;
            this.from = from;
            this.to = to;
            this.taken = from;
        }

        void run(MarkedText marked, List<Match> out) {
            int spanStart = 0;
            for (MarkedText.Span span : marked.spans()) {
                int spanEnd = spanStart + span.text().length();
                if (!span.fromCaller() && spanEnd > from && spanStart < to) {
                    scan(Math.max(spanStart, from), Math.min(spanEnd, to), out);
                }
                spanStart = spanEnd;
            }
        }

        private void scan(int start, int end, List<Match> out) {
            int position = Math.max(start, taken);
            while (position < end) {
                AddedToken token = longestAt(position, end);
                if (token == null) {
                    position++;
                    continue;
                }
                int tokenEnd = position + token.content().length();
                if (token.singleWord() && touchesWord(position, tokenEnd)) {
                    position = tokenEnd;
                    continue;
                }
                int matchStart = token.stripLeft() ? skipSpacesBack(position) : position;
                int matchEnd = token.stripRight() ? skipSpaces(tokenEnd) : tokenEnd;
                out.add(new Match(matchStart, matchEnd, token.id()));
                taken = matchEnd;
                position = matchEnd;
            }
        }

        private @Nullable AddedToken longestAt(int position, int end) {
            int first = Arrays.binarySearch(pass.firstChars, text.charAt(position));
            if (first < 0) {
                return null;
            }
            for (AddedToken token : pass.candidates[first]) {
                if (position + token.content().length() <= end && text.startsWith(token.content(), position)) {
                    return token;
                }
            }
            return null;
        }

        private boolean touchesWord(int start, int end) {
            return (start > from && isWord(text.codePointBefore(start))) || (end < to && isWord(text.codePointAt(end)));
        }

        private int skipSpacesBack(int position) {
            int start = position;
            while (start > taken && isWhiteSpace(text.charAt(start - 1))) {
                start--;
            }
            return start;
        }

        private int skipSpaces(int position) {
            int end = position;
            while (end < to && isWhiteSpace(text.charAt(end))) {
                end++;
            }
            return end;
        }
    }

    /// Unicode's White_Space; all of it lies in the basic plane.
    private static boolean isWhiteSpace(char c) {
        return (c >= '\t' && c <= '\r') || c == '\u0085' || Character.isSpaceChar(c);
    }

    /// What `\w` means with Unicode (UTS 18, annex C).
    private static boolean isWord(int codePoint) {
        return Character.isAlphabetic(codePoint)
                || switch (Character.getType(codePoint)) {
                    case Character.NON_SPACING_MARK,
                            Character.ENCLOSING_MARK,
                            Character.COMBINING_SPACING_MARK,
                            Character.DECIMAL_DIGIT_NUMBER,
                            Character.CONNECTOR_PUNCTUATION -> true;
                    default -> codePoint == 0x200C || codePoint == 0x200D;
                };
    }
}
