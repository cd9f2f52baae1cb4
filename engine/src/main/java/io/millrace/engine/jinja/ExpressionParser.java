package io.millrace.engine.jinja;

import java.math.BigInteger;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/// Parses expressions, from the loosest binding to the tightest.
final class ExpressionParser {
    private static final Set<String> NO_TEST_ARGUMENT = Set.of("else", "or", "and");

    private final TokenStream tokens;
    private boolean usesCaller;

    ExpressionParser(TokenStream tokens) {
        this.tokens = tokens;
    }

    /// Whether `caller` was read since the last call; starts over from `before`.
    boolean usesCaller(boolean before) {
        boolean used = usesCaller;
        usesCaller = before;
        return used;
    }

    Expr expression() {
        tokens.enter();
        Expr then = or();
        while (tokens.skipName("if")) {
            Expr condition = or();
            Optional<Expr> otherwise = tokens.skipName("else") ? Optional.of(expression()) : Optional.empty();
            then = new Expr.Conditional(then.position(), condition, then, otherwise);
        }
        tokens.leave();
        return then;
    }

    /// An expression, or several with commas between, which make a tuple.
    ///
    /// @param conditional  whether `a if b` may occur
    Expr expressions(boolean conditional) {
        Position position = tokens.current().position();
        List<Expr> items = new ArrayList<>();
        boolean isTuple = false;
        while (!atTupleEnd()) {
            items.add(conditional ? expression() : or());
            if (!tokens.skipOperator(",")) {
                break;
            }
            isTuple = true;
        }
        if (isTuple) {
            return new Expr.TupleLiteral(position, List.copyOf(items));
        }
        if (items.isEmpty()) {
            throw tokens.unexpected("an expression");
        }
        return items.getFirst();
    }

    private boolean atTupleEnd() {
        Token token = tokens.current();
        return token.kind() == Token.Kind.BLOCK_END || token.kind() == Token.Kind.OUTPUT_END || token.isOperator(")");
    }

    private Expr or() {
        Expr left = and();
        while (tokens.current().isName("or")) {
            Position position = tokens.take().position();
            left = new Expr.Logic(position, false, left, and());
        }
        return left;
    }

    private Expr and() {
        Expr left = not();
        while (tokens.current().isName("and")) {
            Position position = tokens.take().position();
            left = new Expr.Logic(position, true, left, not());
        }
        return left;
    }

    private Expr not() {
        if (!tokens.current().isName("not")) {
            return comparison();
        }
        tokens.enter();
        Position position = tokens.take().position();
        Expr operand = new Expr.Not(position, not());
        tokens.leave();
        return operand;
    }

    private Expr comparison() {
        Expr first = sum();
        List<Expr.Comparison> comparisons = new ArrayList<>();
        Optional<CompareOperator> operator = compareOperator();
        while (operator.isPresent()) {
            comparisons.add(new Expr.Comparison(operator.get(), sum()));
            operator = compareOperator();
        }
        return comparisons.isEmpty() ? first : new Expr.Compare(first.position(), first, List.copyOf(comparisons));
    }

    private Optional<CompareOperator> compareOperator() {
        Token token = tokens.current();
        if (token.isName("in")) {
            tokens.take();
            return Optional.of(CompareOperator.IN);
        }
        if (token.isName("not") && tokens.following().isName("in")) {
            tokens.take();
            tokens.take();
            return Optional.of(CompareOperator.NOT_IN);
        }
        for (CompareOperator operator : CompareOperator.values()) {
            if (tokens.skipOperator(operator.sign())) {
                return Optional.of(operator);
            }
        }
        return Optional.empty();
    }

    private Expr sum() {
        Expr left = concat();
        while (tokens.current().isOperator("+") || tokens.current().isOperator("-")) {
            Token operator = tokens.take();
            left = new Expr.Binary(
                    operator.position(),
                    operator.text().equals("+") ? BinaryOperator.ADD : BinaryOperator.SUBTRACT,
                    left,
                    concat());
        }
        return left;
    }

    private Expr concat() {
        List<Expr> parts = new ArrayList<>();
        parts.add(product());
        while (tokens.skipOperator("~")) {
            parts.add(product());
        }
        return parts.size() == 1
                ? parts.getFirst()
                : new Expr.Concat(parts.getFirst().position(), List.copyOf(parts));
    }

    private Expr product() {
        Expr left = power();
        while (true) {
            Position position = tokens.current().position();
            BinaryOperator operator;
            if (tokens.skipOperator("*")) {
                operator = BinaryOperator.MULTIPLY;
            } else if (tokens.skipOperator("/")) {
                operator = BinaryOperator.DIVIDE;
            } else if (tokens.skipOperator("//")) {
                operator = BinaryOperator.FLOOR_DIVIDE;
            } else if (tokens.skipOperator("%")) {
                operator = BinaryOperator.MODULO;
            } else {
                return left;
            }
            left = new Expr.Binary(position, operator, left, power());
        }
    }

    private Expr power() {
        Expr left = unary(true);
        while (tokens.current().isOperator("**")) {
            Position position = tokens.take().position();
            left = new Expr.Binary(position, BinaryOperator.POWER, left, unary(true));
        }
        return left;
    }

    private Expr unary(boolean withFilters) {
        tokens.enter();
        Token token = tokens.current();
        Expr expression;
        if (token.isOperator("-") || token.isOperator("+")) {
            tokens.take();
            expression = new Expr.Sign(token.position(), token.isOperator("-"), unary(false));
        } else {
            expression = primary();
        }
        expression = postfix(expression);
        if (withFilters) {
            expression = filters(expression);
        }
        tokens.leave();
        return expression;
    }

    private Expr primary() {
        Token token = tokens.current();
        return switch (token.kind()) {
            case NAME -> {
                tokens.take();
                yield name(token);
            }
            case STRING -> {
                StringBuilder text = new StringBuilder();
                while (tokens.current().kind() == Token.Kind.STRING) {
                    text.append(tokens.take().text());
                }
                yield new Expr.Literal(token.position(), Text.of(text.toString()));
            }
            case INTEGER -> {
                tokens.take();
                yield new Expr.Literal(token.position(), integer(token));
            }
            case REAL -> {
                tokens.take();
                yield new Expr.Literal(token.position(), new Value.Real(Double.parseDouble(token.text())));
            }
            case OPERATOR -> bracketed(token);
            case DATA, BLOCK_BEGIN, BLOCK_END, OUTPUT_BEGIN, OUTPUT_END, END ->
                throw tokens.unexpected("an expression");
        };
    }

    private static Value integer(Token token) {
        if (token.text().length() > 4000) {
            throw JinjaException.limit("an integer of more than 4000 digits").at(token.position());
        }
        return new Value.Int(new BigInteger(token.text()));
    }

    private Expr name(Token token) {
        Position position = token.position();
        return switch (token.text()) {
            case "true", "True" -> new Expr.Literal(position, Value.Bool.TRUE);
            case "false", "False" -> new Expr.Literal(position, Value.Bool.FALSE);
            case "none", "None" -> new Expr.Literal(position, Value.None.NONE);
            default -> {
                usesCaller |= token.text().equals("caller");
                yield new Expr.Name(position, token.text());
            }
        };
    }

    private Expr bracketed(Token token) {
        Position position = token.position();
        if (tokens.skipOperator("(")) {
            if (tokens.skipOperator(")")) {
                return new Expr.TupleLiteral(position, List.of());
            }
            Expr inner = expressions(true);
            tokens.expectOperator(")");
            return inner;
        }
        if (tokens.skipOperator("[")) {
            List<Expr> items = new ArrayList<>();
            while (!tokens.current().isOperator("]")) {
                items.add(expression());
                if (!tokens.skipOperator(",")) {
                    break;
                }
            }
            tokens.expectOperator("]");
            return new Expr.ListLiteral(position, List.copyOf(items));
        }
        if (tokens.skipOperator("{")) {
            List<Expr.Pair> pairs = new ArrayList<>();
            while (!tokens.current().isOperator("}")) {
                Expr key = expression();
                tokens.expectOperator(":");
                pairs.add(new Expr.Pair(key, expression()));
                if (!tokens.skipOperator(",")) {
                    break;
                }
            }
            tokens.expectOperator("}");
            return new Expr.DictLiteral(position, List.copyOf(pairs));
        }
        throw tokens.unexpected("an expression");
    }

    private Expr postfix(Expr start) {
        Expr expression = start;
        while (true) {
            Position position = tokens.current().position();
            if (tokens.skipOperator(".")) {
                expression = attribute(expression, position);
            } else if (tokens.skipOperator("[")) {
                expression = subscript(expression, position);
            } else if (tokens.current().isOperator("(")) {
                expression = new Expr.Call(position, expression, callArguments());
            } else {
                return expression;
            }
        }
    }

    private Expr attribute(Expr target, Position position) {
        Token token = tokens.take();
        return switch (token.kind()) {
            case NAME -> new Expr.Attribute(position, target, token.text());
            case INTEGER -> new Expr.Item(position, target, new Expr.Literal(token.position(), integer(token)));
            default -> throw JinjaException.syntax("expected name or number after '.'", token.position());
        };
    }

    private Expr subscript(Expr target, Position position) {
        Optional<Expr> start = tokens.current().isOperator(":") ? Optional.empty() : Optional.of(expression());
        if (tokens.current().isOperator(",")) {
            throw JinjaException.unsupported("an index with commas", position);
        }
        if (start.isPresent() && tokens.skipOperator("]")) {
            return new Expr.Item(position, target, start.get());
        }
        tokens.expectOperator(":");
        Optional<Expr> stop = sliceBound();
        Optional<Expr> step = tokens.skipOperator(":") ? sliceBound() : Optional.empty();
        tokens.expectOperator("]");
        return new Expr.Slice(position, target, start, stop, step);
    }

    private Optional<Expr> sliceBound() {
        boolean absent = tokens.current().isOperator(":") || tokens.current().isOperator("]");
        return absent ? Optional.empty() : Optional.of(expression());
    }

    Expr.CallArguments callArguments() {
        tokens.expectOperator("(");
        List<Expr> positional = new ArrayList<>();
        List<Expr.Named> named = new ArrayList<>();
        Optional<Expr> star = Optional.empty();
        Optional<Expr> doubleStar = Optional.empty();
        while (!tokens.current().isOperator(")")) {
            Token token = tokens.current();
            if (tokens.skipOperator("**")) {
                doubleStar = Optional.of(expression());
            } else if (tokens.skipOperator("*")) {
                star = Optional.of(expression());
            } else if (token.kind() == Token.Kind.NAME && tokens.following().isOperator("=")) {
                tokens.take();
                tokens.take();
                named.add(new Expr.Named(token.text(), expression()));
            } else {
                if (!named.isEmpty() || star.isPresent() || doubleStar.isPresent()) {
                    throw JinjaException.syntax("invalid syntax for function call expression", token.position());
                }
                positional.add(expression());
            }
            if (!tokens.skipOperator(",")) {
                break;
            }
        }
        tokens.expectOperator(")");
        return new Expr.CallArguments(List.copyOf(positional), List.copyOf(named), star, doubleStar);
    }

    private Expr filters(Expr start) {
        Expr expression = start;
        while (true) {
            Position position = tokens.current().position();
            if (tokens.skipOperator("|")) {
                Statement.FilterCall filter = filterCall();
                expression = new Expr.Filter(filter.position(), expression, filter.name(), filter.arguments());
            } else if (tokens.skipName("is")) {
                expression = test(expression, position);
            } else if (tokens.current().isOperator("(")) {
                expression = new Expr.Call(position, expression, callArguments());
            } else {
                return expression;
            }
        }
    }

    /// A filter's name and arguments.
    Statement.FilterCall filterCall() {
        Token name = tokens.expect(Token.Kind.NAME, "the name of a filter");
        Expr.CallArguments arguments = tokens.current().isOperator("(") ? callArguments() : Expr.CallArguments.NONE;
        return new Statement.FilterCall(name.position(), name.text(), arguments);
    }

    private Expr test(Expr target, Position position) {
        boolean negated = tokens.skipName("not");
        String name = tokens.expect(Token.Kind.NAME, "the name of a test").text();
        Expr.CallArguments arguments = Expr.CallArguments.NONE;
        Token token = tokens.current();
        if (token.isOperator("(")) {
            arguments = callArguments();
        } else if (startsTestArgument(token)) {
            if (token.isName("is")) {
                throw JinjaException.syntax("You cannot chain multiple tests with is", token.position());
            }
            Expr argument = postfix(primary());
            arguments = new Expr.CallArguments(List.of(argument), List.of(), Optional.empty(), Optional.empty());
        }
        Expr test = new Expr.Test(position, target, name, arguments);
        return negated ? new Expr.Not(position, test) : test;
    }

    private static boolean startsTestArgument(Token token) {
        return switch (token.kind()) {
            case NAME -> !token.isName(NO_TEST_ARGUMENT);
            case STRING, INTEGER, REAL -> true;
            case OPERATOR -> token.isOperator("[") || token.isOperator("{");
            case DATA, BLOCK_BEGIN, BLOCK_END, OUTPUT_BEGIN, OUTPUT_END, END -> false;
        };
    }
}
