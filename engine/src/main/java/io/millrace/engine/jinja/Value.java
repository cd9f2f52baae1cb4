package io.millrace.engine.jinja;

import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;

/// A value as templates see it, with Python's types.
sealed interface Value
        permits Text,
                Dict,
                Loop,
                Value.Undefined,
                Value.None,
                Value.Bool,
                Value.Int,
                Value.Real,
                Value.ListOf,
                Value.TupleOf,
                Value.Range,
                Value.DictView,
                Value.Generator,
                Value.Namespace,
                Value.Function {

    /// Nothing there.
    ///
    /// @param reason  what to say when it is used
    record Undefined(String reason) implements Value {}

    /// Python's None.
    enum None implements Value {
        NONE
    }

    /// A truth value.
    enum Bool implements Value {
        FALSE,
        TRUE;

        static Bool of(boolean value) {
            return value ? TRUE : FALSE;
        }
    }

    /// An integer of any size.
    record Int(BigInteger value) implements Value {
        static Int of(long value) {
            return new Int(BigInteger.valueOf(value));
        }
    }

    /// A float.
    record Real(double value) implements Value {}

    /// A list; templates cannot change it.
    record ListOf(List<Value> items) implements Value {}

    /// A tuple.
    record TupleOf(List<Value> items) implements Value {
        static TupleOf of(Value... items) {
            return new TupleOf(List.of(items));
        }
    }

    /// A range of integers.
    record Range(long start, long stop, long step) implements Value {
        long size() {
            long span = step > 0 ? stop - start : start - stop;
            long width = Math.abs(step);
            return span <= 0 ? 0 : (span + width - 1) / width;
        }

        List<Value> items() {
            List<Value> items = new ArrayList<>();
            long size = size();
            for (long i = 0; i < size; i++) {
                items.add(Int.of(start + i * step));
            }
            return items;
        }
    }

    /// What `keys()`, `values()` and `items()` of a mapping give.
    record DictView(Dict dict, Part part) implements Value {
        enum Part {
            KEYS,
            VALUES,
            ITEMS
        }

        List<Value> items() {
            List<Value> items = new ArrayList<>();
            for (Dict.Entry entry : dict.entries()) {
                items.add(
                        switch (part) {
                            case KEYS -> entry.key();
                            case VALUES -> entry.value();
                            case ITEMS -> TupleOf.of(entry.key(), entry.value());
                        });
            }
            return items;
        }
    }

    /// Something that can be gone through once.
    ///
    /// @param typeName  its Python type, for error sentences
    record Generator(Iterator<Value> iterator, String typeName) implements Value {
        static Generator of(Iterator<Value> iterator) {
            return new Generator(iterator, "generator");
        }
    }

    /// The one thing a template can change.
    record Namespace(Map<String, Value> attributes) implements Value {}

    /// Something that can be called.
    ///
    /// @param takesCaller  whether a `call` block may use it
    record Function(String name, Body body, boolean takesCaller) implements Value {
        interface Body {
            Value call(Arguments arguments);
        }

        static Function of(String name, Body body) {
            return new Function(name, body, false);
        }
    }
}
