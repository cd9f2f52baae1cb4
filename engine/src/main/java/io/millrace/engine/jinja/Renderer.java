package io.millrace.engine.jinja;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/// Runs statements.
final class Renderer {
    private enum Flow {
        NEXT,
        BREAK,
        CONTINUE
    }

    private final Budget budget;
    private final Evaluator evaluator;
    private int loopDepth;

    Renderer(Budget budget) {
        this.budget = budget;
        this.evaluator = new Evaluator(budget);
    }

    /// Where the operation at work stands.
    Position position() {
        return evaluator.position();
    }

    Text render(List<Statement> statements, Scope scope) {
        TextBuilder out = new TextBuilder(budget);
        run(statements, scope, out);
        return out.toText();
    }

    private Flow run(List<Statement> statements, Scope scope, TextBuilder out) {
        budget.enter();
        for (Statement statement : statements) {
            Flow flow = run(statement, scope, out);
            if (flow != Flow.NEXT) {
                budget.leave();
                return flow;
            }
        }
        budget.leave();
        return Flow.NEXT;
    }

    private Flow run(Statement statement, Scope scope, TextBuilder out) {
        budget.steps(1);
        switch (statement) {
            case Statement.Data(Text text) -> out.append(text);
            case Statement.Output(Expr expression) -> {
                Value value = evaluator.evaluate(expression, scope);
                evaluator.at(expression.position());
                out.append(Python.string(value, budget));
            }
            case Statement.If choice -> {
                return run(branch(choice, scope), scope, out);
            }
            case Statement.For loop -> loop(loop, scope, out);
            case Statement.Set set -> {
                Value value = evaluator.evaluate(set.value(), scope);
                evaluator.at(set.position());
                assign(set.target(), value, scope);
            }
            case Statement.SetBlock set -> {
                Value text = filtered(render(set.body(), new Scope(scope)), set.filters(), scope);
                evaluator.at(set.position());
                assign(set.target(), text, scope);
            }
            case Statement.FilterBlock block ->
                out.append(Python.string(
                        filtered(render(block.body(), new Scope(scope)), block.filters(), scope), budget));
            case Statement.Macro(Statement.MacroDefinition definition) ->
                scope.set(definition.name(), macro(definition, scope));
            case Statement.CallBlock call -> callBlock(call, scope, out);
            case Statement.Generation(List<Statement> body) -> out.append(render(body, new Scope(scope)));
            case Statement.With with -> {
                return with(with, scope, out);
            }
            case Statement.Break end -> {
                return Flow.BREAK;
            }
            case Statement.Continue end -> {
                return Flow.CONTINUE;
            }
        }
        return Flow.NEXT;
    }

    private List<Statement> branch(Statement.If choice, Scope scope) {
        for (Statement.Branch branch : choice.branches()) {
            if (Python.truth(evaluator.evaluate(branch.condition(), scope))) {
                return branch.body();
            }
        }
        return choice.otherwise();
    }

    private void loop(Statement.For loop, Scope scope, TextBuilder out) {
        Value iterable = evaluator.evaluate(loop.items(), scope);
        evaluator.at(loop.position());
        List<Value> items = Python.list(iterable, budget);
        if (loop.filter().isPresent()) {
            List<Value> kept = new ArrayList<>();
            for (Value item : items) {
                Scope filterScope = new Scope(scope);
                assign(loop.target(), item, filterScope);
                if (Python.truth(evaluator.evaluate(loop.filter().get(), filterScope))) {
                    kept.add(item);
                }
            }
            items = kept;
        }
        Loop state = new Loop(items, loopDepth++);
        // As in Jinja2, a pass left by `continue` or `break` does not count for `else`.
        boolean finishedPass = false;
        for (Value item : items) {
            state.advance();
            Scope pass = new Scope(scope);
            pass.set("loop", state);
            evaluator.at(loop.position());
            assign(loop.target(), item, pass);
            Flow flow = run(loop.body(), pass, out);
            finishedPass |= flow == Flow.NEXT;
            if (flow == Flow.BREAK) {
                break;
            }
        }
        loopDepth--;
        if (!finishedPass) {
            run(loop.otherwise(), new Scope(scope), out);
        }
    }

    private void assign(Statement.Target target, Value value, Scope scope) {
        switch (target) {
            case Statement.Target.Variable(String name) -> scope.set(name, value);
            case Statement.Target.NamespaceAttribute(String name, String attribute) -> {
                Optional<Value> namespace = scope.get(name);
                if (namespace.isEmpty()
                        || !(namespace.get() instanceof Value.Namespace(Map<String, Value> attributes))) {
                    throw JinjaException.runtime("cannot assign attribute on non-namespace object '" + name + "'");
                }
                attributes.put(attribute, value);
            }
            case Statement.Target.Several(List<Statement.Target> targets) -> {
                List<Value> parts = Python.list(value, budget);
                if (parts.size() != targets.size()) {
                    throw JinjaException.runtime(
                            "cannot unpack " + parts.size() + " values (expected: " + targets.size() + ")");
                }
                for (int i = 0; i < parts.size(); i++) {
                    assign(targets.get(i), parts.get(i), scope);
                }
            }
        }
    }

    private Value filtered(Value text, List<Statement.FilterCall> filters, Scope scope) {
        Value value = text;
        for (Statement.FilterCall filter : filters) {
            Arguments arguments = evaluator.arguments(filter.arguments(), scope);
            value = evaluator.filter(filter.position(), filter.name(), value, arguments);
        }
        return value;
    }

    private Value.Function macro(Statement.MacroDefinition definition, Scope scope) {
        return new Value.Function(
                definition.name(),
                arguments -> {
                    int outerLoops = loopDepth;
                    loopDepth = 0;
                    Scope inner = new Scope(scope);
                    bind(definition, arguments, inner);
                    Text text = render(definition.body(), inner);
                    loopDepth = outerLoops;
                    return text;
                },
                definition.takesCaller());
    }

    private void bind(Statement.MacroDefinition definition, Arguments arguments, Scope scope) {
        List<Statement.Parameter> parameters = definition.parameters();
        String name = definition.name();
        if (arguments.positional().size() > parameters.size()) {
            throw JinjaException.runtime(
                    "macro '" + name + "' takes not more than " + parameters.size() + " argument(s)");
        }
        Set<String> left = new LinkedHashSet<>(arguments.named().keySet());
        if (definition.takesCaller()) {
            left.remove("caller");
            scope.set(
                    "caller",
                    Optional.ofNullable(arguments.named().get("caller"))
                            .orElse(new Value.Undefined("No caller defined")));
        }
        for (int i = 0; i < parameters.size(); i++) {
            Statement.Parameter parameter = parameters.get(i);
            if (i < arguments.positional().size()) {
                scope.set(parameter.name(), arguments.positional().get(i));
                continue;
            }
            Value value = arguments.named().get(parameter.name());
            left.remove(parameter.name());
            if (value == null) {
                value = parameter.defaultValue().isPresent()
                        ? evaluator.evaluate(parameter.defaultValue().get(), scope)
                        : new Value.Undefined("parameter '" + parameter.name() + "' was not provided");
            }
            scope.set(parameter.name(), value);
        }
        Iterator<String> unknown = left.iterator();
        if (unknown.hasNext()) {
            throw JinjaException.runtime("macro '" + name + "' takes no keyword argument '" + unknown.next() + "'");
        }
    }

    private void callBlock(Statement.CallBlock block, Scope scope, TextBuilder out) {
        Arguments arguments = evaluator.arguments(block.call().arguments(), scope);
        Map<String, Value> named = new LinkedHashMap<>(arguments.named());
        named.put("caller", macro(block.caller(), scope));
        Arguments withCaller = new Arguments(arguments.positional(), named);
        out.append(Python.string(evaluator.call(block.call(), withCaller, scope), budget));
    }

    private Flow with(Statement.With with, Scope scope, TextBuilder out) {
        Scope inner = new Scope(scope);
        for (Statement.Set binding : with.bindings()) {
            assign(binding.target(), evaluator.evaluate(binding.value(), scope), inner);
        }
        return run(with.body(), inner, out);
    }
}
