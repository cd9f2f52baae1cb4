package io.millrace.engine.jinja;

import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/// The variable `loop`.
final class Loop implements Value {
    private final List<Value> items;
    private final int depth;
    private int index0 = -1;
    private @Nullable List<Value> changed;

    /// @param depth  how many loops are around it, counted from 0
    Loop(List<Value> items, int depth) {
        this.items = items;
        this.depth = depth;
    }

    void advance() {
        index0++;
    }

    int index() {
        return index0 + 1;
    }

    int length() {
        return items.size();
    }

    int depth() {
        return depth;
    }

    /// An attribute, empty if `loop` has none of this name.
    Optional<Value> attribute(String name) {
        return Optional.ofNullable(
                switch (name) {
                    case "index" -> Int.of(index0 + 1L);
                    case "index0" -> Int.of(index0);
                    case "first" -> Bool.of(index0 == 0);
                    case "last" -> Bool.of(index0 == items.size() - 1);
                    case "length" -> Int.of(items.size());
                    case "revindex" -> Int.of(items.size() - index0);
                    case "revindex0" -> Int.of(items.size() - index0 - 1L);
                    case "depth" -> Int.of(depth + 1L);
                    case "depth0" -> Int.of(depth);
                    case "previtem" -> index0 == 0 ? new Undefined("there is no previous item") : items.get(index0 - 1);
                    case "nextitem" ->
                        index0 == items.size() - 1 ? new Undefined("there is no next item") : items.get(index0 + 1);
                    case "cycle" -> Function.of("cycle", this::cycle);
                    case "changed" -> Function.of("changed", this::changed);
                    default -> null;
                });
    }

    private Value cycle(Arguments arguments) {
        List<Value> choices = arguments.positional();
        if (choices.isEmpty()) {
            throw JinjaException.runtime("no items for cycling given");
        }
        return choices.get(index0 % choices.size());
    }

    private Value changed(Arguments arguments) {
        List<Value> now = arguments.positional();
        boolean same = changed != null && Equality.equal(new ListOf(changed), new ListOf(now));
        changed = now;
        return Bool.of(!same);
    }
}
