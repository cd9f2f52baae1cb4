package io.millrace.engine.tokenizer;

import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.engine.schedule.StopCondition;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/// Ends a sequence at the first stop string of its detokenized text. The first to be complete, character
/// by character, wins; of several that end at the same character the longest. So the result does not
/// depend on how the text falls into tokens. Each stop string runs its own Knuth-Morris-Pratt matcher,
/// which also says how long an ending of the text could still grow into a match: ids whose text reaches
/// into that ending are held back.
public final class StopStrings implements StopCondition {
    private static final int MAX_STOPS = 64;
    private static final int MAX_STOP_CHARS = 4096;

    private final Detokenizer detokenizer;
    private final List<Matcher> matchers = new ArrayList<>();

    private long textLength; // in UTF-16 units

    // Where the text of each id that is held back ends; ids whose last bytes are not text yet have no end.
    private long[] ends = new long[16];
    private int heldCount;
    private int endedCount;
    private int released;
    private boolean matched;

    /// @param stops        not empty, none of them empty
    /// @param skipSpecial  whether the text leaves special tokens out; the text
    ///                     that is cut must do the same
    /// @throws MillraceException `INVALID_REQUEST` with param `stop` if a stop string cannot be used
    public StopStrings(Tokenizer tokenizer, List<String> stops, boolean skipSpecial) {
        if (stops.isEmpty() || stops.size() > MAX_STOPS) {
            throw badStop("stop: " + stops.size() + " strings (expected: 1.." + MAX_STOPS + ")");
        }
        for (String stop : stops) {
            if (stop.isEmpty() || stop.length() > MAX_STOP_CHARS) {
                throw badStop("stop: a string of length " + stop.length() + " (expected: 1.." + MAX_STOP_CHARS + ")");
            }
            if (Character.isLowSurrogate(stop.charAt(0)) || Character.isHighSurrogate(stop.charAt(stop.length() - 1))) {
                throw badStop("stop: half a surrogate pair (expected: whole characters)");
            }
            matchers.add(new Matcher(stop));
        }
        this.detokenizer = tokenizer.detokenizer(skipSpecial);
    }

    @Override
    public Verdict accept(int id) {
        if (matched) {
            throw new IllegalStateException("stop condition: already matched (expected: no more ids)");
        }
        String text = detokenizer.accept(id);
        noteEnds(text);
        for (int i = 0; i < text.length(); i++) {
            String stop = longestEndingWith(text.charAt(i));
            if (stop != null) {
                matched = true;
                int cut = stop.codePointCount(0, stop.length()) + text.codePointCount(i + 1, text.length());
                // An unfinished character would show as one U+FFFD.
                return new Matched(stop, detokenizer.isMidCharacter() ? cut + 1 : cut);
            }
        }
        release();
        return new Unmatched(released);
    }

    /// All matchers take the character; the longest stop string that is complete with it, if any.
    private @Nullable String longestEndingWith(char c) {
        String longest = null;
        for (Matcher matcher : matchers) {
            if (matcher.accept(c) && (longest == null || matcher.stop.length() > longest.length())) {
                longest = matcher.stop;
            }
        }
        return longest;
    }

    /// Ids that waited for the rest of a character end with the first code point of the new text: it is
    /// either that character or the U+FFFD in its place. The id just taken ends where the text ends,
    /// unless it begins a character.
    private void noteEnds(String text) {
        if (!text.isEmpty()) {
            long firstCharacterEnd = textLength + Character.charCount(text.codePointAt(0));
            while (endedCount < heldCount) {
                ends[endedCount++] = firstCharacterEnd;
            }
            textLength += text.length();
        }
        if (heldCount == ends.length) {
            ends = Arrays.copyOf(ends, 2 * heldCount);
        }
        heldCount++;
        if (!detokenizer.isMidCharacter()) {
            ends[endedCount++] = textLength;
        }
    }

    private void release() {
        int openChars = 0;
        for (Matcher matcher : matchers) {
            openChars = Math.max(openChars, matcher.length);
        }
        int count = 0;
        while (count < endedCount && ends[count] <= textLength - openChars) {
            count++;
        }
        System.arraycopy(ends, count, ends, 0, endedCount - count);
        heldCount -= count;
        endedCount -= count;
        released += count;
    }

    private static MillraceException badStop(String message) {
        return MillraceException.ofParam(ErrorCode.INVALID_REQUEST, "stop", message);
    }

    /// Knuth-Morris-Pratt for one stop string; `length` characters of it are the end of the text.
    private static final class Matcher {
        private final String stop;
        private final int[] fallback; // [stop.length()]: longest border of the first i + 1 characters
        private int length;

        Matcher(String stop) {
            this.stop = stop;
            this.fallback = new int[stop.length()];
            int border = 0;
            for (int i = 1; i < fallback.length; i++) {
                while (border > 0 && stop.charAt(border) != stop.charAt(i)) {
                    border = fallback[border - 1];
                }
                if (stop.charAt(border) == stop.charAt(i)) {
                    border++;
                }
                fallback[i] = border;
            }
        }

        /// Whether the stop string is complete with this character. Nothing is to be added after that.
        boolean accept(char c) {
            while (length > 0 && stop.charAt(length) != c) {
                length = fallback[length - 1];
            }
            if (stop.charAt(length) == c) {
                length++;
            }
            return length == stop.length();
        }
    }
}
