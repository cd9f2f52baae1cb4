package io.millrace.engine.jinja;

import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/// A mapping in insertion order. Keys equal as in Python: `1`, `1.0` and `true` are one key.
final class Dict implements Value {
    /// One pair.
    record Entry(Value key, Value value) {}

    private final Map<Object, Entry> entries = new LinkedHashMap<>();

    /// Adds a pair; of two equal keys the first stays, with the second's value.
    Dict put(Value key, Value value) {
        Object hash = Equality.key(key);
        Entry old = entries.get(hash);
        entries.put(hash, new Entry(old == null ? key : old.key(), value));
        return this;
    }

    @Nullable
    Value get(Value key) {
        Entry entry = entries.get(Equality.key(key));
        return entry == null ? null : entry.value();
    }

    @Nullable
    Value get(String key) {
        Entry entry = entries.get(key);
        return entry == null ? null : entry.value();
    }

    boolean containsKey(Value key) {
        return entries.containsKey(Equality.key(key));
    }

    int size() {
        return entries.size();
    }

    Collection<Entry> entries() {
        return entries.values();
    }

    List<Value> keys() {
        return entries.values().stream().map(Entry::key).toList();
    }
}
