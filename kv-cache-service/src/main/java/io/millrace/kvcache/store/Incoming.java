package io.millrace.kvcache.store;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/// A block of a put on its way in.
final class Incoming {
    /// How far it is.
    enum State {
        /// Sections are missing.
        RECEIVING,
        /// All sections are there, the parent is not yet.
        WAITING,
        /// In the tree, or in the lease's tails.
        SETTLED,
        /// Was there already: sections are passed over.
        PRESENT,
        /// Not taken: sections are passed over, and so are blocks that follow it.
        REFUSED
    }

    final BlockTerms terms;
    State state;
    private final @Nullable Section[] sections;
    private int missing;

    Incoming(BlockTerms terms, int sections, State state) {
        this.terms = terms;
        this.state = state;
        this.sections = new Section[state == State.RECEIVING ? sections : 0];
        this.missing = sections;
    }

    boolean has(int section) {
        return sections[section] != null;
    }

    /// Takes a section.
    ///
    /// @return whether it was the last one missing
    boolean add(int section, Section data) {
        sections[section] = data;
        missing--;
        return missing == 0;
    }

    /// All sections, in order.
    List<Section> sections() {
        List<Section> all = new ArrayList<>(sections.length);
        for (Section section : sections) {
            if (section == null) {
                throw new IllegalStateException("a section is missing");
            }
            all.add(section);
        }
        return all;
    }
}
