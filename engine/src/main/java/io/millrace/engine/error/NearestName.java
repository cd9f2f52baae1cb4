package io.millrace.engine.error;

import java.util.Collection;
import java.util.Locale;
import java.util.Optional;

/// Finds the known name that a misspelt one most likely means, for messages and for telling a slip of the
/// pen from a name of somebody else's.
public final class NearestName {
    private static final int SHORT = 4;
    private static final int LONG = 8;

    private NearestName() {}

    /// The nearest of the known names, if one is near: equal but for capitals, underscores and hyphens, or
    /// one letter away (added, left out, replaced, or swapped with its neighbour), two from 8 letters on.
    /// Names of up to three letters are near to nothing but themselves.
    ///
    /// @param name   a name that is not among them
    /// @param known  of equally near ones the first is taken
    public static Optional<String> of(String name, Collection<String> known) {
        return of(name, known, 1);
    }

    /// The same where it is certain that one of the known names is meant: short names, too, may be one letter away.
    public static Optional<String> ofFew(String name, Collection<String> known) {
        return of(name, known, 2);
    }

    private static Optional<String> of(String name, Collection<String> known, int least) {
        String wanted = letters(name);
        int best = wanted.length() < SHORT ? least : wanted.length() < LONG ? 2 : 3;
        Optional<String> nearest = Optional.empty();
        for (String candidate : known) {
            String letters = letters(candidate);
            if (Math.abs(letters.length() - wanted.length()) < best) {
                int distance = distance(wanted, letters);
                if (distance < best) {
                    best = distance;
                    nearest = Optional.of(candidate);
                }
            }
        }
        return nearest;
    }

    private static String letters(String name) {
        return name.toLowerCase(Locale.ROOT).replace("_", "").replace("-", "");
    }

    /// Restricted edit distance with swaps, by rows.
    private static int distance(String a, String b) {
        int[] beforeLast = new int[b.length() + 1];
        int[] last = new int[b.length() + 1];
        for (int j = 0; j <= b.length(); j++) {
            last[j] = j;
        }
        for (int i = 1; i <= a.length(); i++) {
            int[] row = new int[b.length() + 1];
            row[0] = i;
            for (int j = 1; j <= b.length(); j++) {
                int replaced = last[j - 1] + (a.charAt(i - 1) == b.charAt(j - 1) ? 0 : 1);
                row[j] = Math.min(replaced, Math.min(last[j], row[j - 1]) + 1);
                if (i > 1 && j > 1 && a.charAt(i - 1) == b.charAt(j - 2) && a.charAt(i - 2) == b.charAt(j - 1)) {
                    row[j] = Math.min(row[j], beforeLast[j - 2] + 1);
                }
            }
            beforeLast = last;
            last = row;
        }
        return last[b.length()];
    }
}
