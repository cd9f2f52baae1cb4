package io.millrace.engine.jinja;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/// Computes expressions.
final class Evaluator {
    private static final Set<String> UNSUPPORTED_NAMES =
            Set.of("varargs", "kwargs", "self", "super", "lipsum", "cycler", "joiner");

    private final Budget budget;
    private final Attributes attributes;
    private final Filters filters;
    private final Tests tests;
    private Position position = new Position(1, 1);

    Evaluator(Budget budget) {
        this.budget = budget;
        this.attributes = new Attributes(budget);
        this.tests = new Tests(budget);
        this.filters = new Filters(budget, attributes, tests);
    }

    /// Where the operation at work stands.
    Position position() {
        return position;
    }

    void at(Position place) {
        position = place;
    }

    Value evaluate(Expr expression, Scope scope) {
        budget.enter();
        Value value = switch (expression) {
            case Expr.Literal literal -> literal.value();
            case Expr.Name name -> name(name, scope);
            case Expr.ListLiteral list -> new Value.ListOf(all(list.items(), scope));
            case Expr.TupleLiteral tuple -> new Value.TupleOf(all(tuple.items(), scope));
            case Expr.DictLiteral dict -> dict(dict, scope);
            case Expr.Attribute attribute -> {
                Value target = evaluate(attribute.target(), scope);
                at(attribute.position());
                yield attributes.attribute(target, attribute.name());
            }
            case Expr.Item item -> {
                Value target = evaluate(item.target(), scope);
                Value index = evaluate(item.index(), scope);
                at(item.position());
                yield attributes.item(target, index);
            }
            case Expr.Slice slice -> slice(slice, scope);
            case Expr.Call call -> call(call, arguments(call.arguments(), scope), scope);
            case Expr.Filter filter -> {
                Value target = evaluate(filter.target(), scope);
                yield filter(filter.position(), filter.name(), target, arguments(filter.arguments(), scope));
            }
            case Expr.Test test -> {
                Value target = evaluate(test.target(), scope);
                Arguments arguments = arguments(test.arguments(), scope);
                at(test.position());
                yield Value.Bool.of(tests.test(test.name(), target, arguments));
            }
            case Expr.Sign sign -> {
                Value operand = evaluate(sign.operand(), scope);
                at(sign.position());
                yield sign.negative() ? Operators.negative(operand) : Operators.positive(operand);
            }
            case Expr.Binary binary -> {
                Value left = evaluate(binary.left(), scope);
                Value right = evaluate(binary.right(), scope);
                at(binary.position());
                yield Operators.binary(binary.operator(), left, right, budget);
            }
            case Expr.Compare compare -> compare(compare, scope);
            case Expr.Logic logic -> {
                Value left = evaluate(logic.left(), scope);
                yield Python.truth(left) == logic.isAnd() ? evaluate(logic.right(), scope) : left;
            }
            case Expr.Not not -> Value.Bool.of(!Python.truth(evaluate(not.operand(), scope)));
            case Expr.Concat concat -> concat(concat, scope);
            case Expr.Conditional conditional -> conditional(conditional, scope);
        };
        budget.leave();
        return value;
    }

    private Value name(Expr.Name name, Scope scope) {
        Optional<Value> value = scope.get(name.name());
        if (value.isPresent()) {
            return value.get();
        }
        if (UNSUPPORTED_NAMES.contains(name.name())) {
            throw JinjaException.unsupported("'" + name.name() + "'", name.position());
        }
        return new Value.Undefined("'" + name.name() + "' is undefined");
    }

    private List<Value> all(List<Expr> expressions, Scope scope) {
        List<Value> values = new ArrayList<>(expressions.size());
        for (Expr expression : expressions) {
            values.add(evaluate(expression, scope));
        }
        return values;
    }

    private Value dict(Expr.DictLiteral literal, Scope scope) {
        Dict dict = new Dict();
        for (Expr.Pair pair : literal.pairs()) {
            Value key = evaluate(pair.key(), scope);
            Value value = evaluate(pair.value(), scope);
            at(literal.position());
            dict.put(key, value);
        }
        return dict;
    }

    private Value slice(Expr.Slice slice, Scope scope) {
        Value target = evaluate(slice.target(), scope);
        Slices.Slice bounds =
                new Slices.Slice(bound(slice.start(), scope), bound(slice.stop(), scope), bound(slice.step(), scope));
        at(slice.position());
        return attributes.slice(target, bounds);
    }

    private Value bound(Optional<Expr> bound, Scope scope) {
        return bound.isPresent() ? evaluate(bound.get(), scope) : Value.None.NONE;
    }

    /// Calls with arguments that are computed already.
    Value call(Expr.Call call, Arguments arguments, Scope scope) {
        Value function = evaluate(call.function(), scope);
        at(call.position());
        return switch (function) {
            case Value.Function callable -> callable.body().call(arguments);
            case Value.Undefined(String reason) -> throw JinjaException.runtime(reason);
            case Loop loop -> throw JinjaException.unsupported("a recursive loop");
            default -> throw JinjaException.runtime("'" + Python.typeName(function) + "' object is not callable");
        };
    }

    Arguments arguments(Expr.CallArguments written, Scope scope) {
        List<Value> positional = all(written.positional(), scope);
        Map<String, Value> named = new LinkedHashMap<>();
        for (Expr.Named argument : written.named()) {
            if (named.put(argument.name(), evaluate(argument.value(), scope)) != null) {
                throw JinjaException.runtime("keyword argument repeated: " + argument.name());
            }
        }
        if (written.star().isPresent()) {
            positional.addAll(Python.list(evaluate(written.star().get(), scope), budget));
        }
        if (written.doubleStar().isPresent()) {
            if (!(evaluate(written.doubleStar().get(), scope) instanceof Dict dict)) {
                throw JinjaException.runtime("argument after ** must be a mapping");
            }
            for (Dict.Entry entry : dict.entries()) {
                if (!(entry.key() instanceof Text name) || named.put(name.string(), entry.value()) != null) {
                    throw JinjaException.runtime("keywords must be strings, each given once");
                }
            }
        }
        return new Arguments(positional, named);
    }

    Value filter(Position place, String name, Value target, Arguments arguments) {
        at(place);
        return filters.apply(name, target, arguments);
    }

    private Value compare(Expr.Compare compare, Scope scope) {
        Value left = evaluate(compare.first(), scope);
        for (Expr.Comparison comparison : compare.comparisons()) {
            Value right = evaluate(comparison.right(), scope);
            at(compare.position());
            if (!Operators.compare(comparison.operator(), left, right)) {
                return Value.Bool.FALSE;
            }
            left = right;
        }
        return Value.Bool.TRUE;
    }

    private Value concat(Expr.Concat concat, Scope scope) {
        List<Value> parts = all(concat.parts(), scope);
        at(concat.position());
        TextBuilder builder = new TextBuilder(budget);
        for (Value part : parts) {
            builder.append(Python.string(part, budget));
        }
        return builder.toText();
    }

    private Value conditional(Expr.Conditional conditional, Scope scope) {
        if (Python.truth(evaluate(conditional.condition(), scope))) {
            return evaluate(conditional.then(), scope);
        }
        return conditional.otherwise().isPresent()
                ? evaluate(conditional.otherwise().get(), scope)
                : new Value.Undefined("the inline if-expression evaluated to false and no else section was defined");
    }
}
