package io.millrace.engine.jinja;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/// Parses a template into statements.
final class Parser {
    private static final Set<String> UNSUPPORTED =
            Set.of("extends", "block", "include", "import", "from", "do", "autoescape", "trans", "debug");

    private final TokenStream tokens;
    private final ExpressionParser expressions;
    private int loops;

    private Parser(TokenStream tokens) {
        this.tokens = tokens;
        this.expressions = new ExpressionParser(tokens);
    }

    static List<Statement> parse(String source, JinjaLimits limits) {
        if (source.length() > limits.maxSourceCharacters()) {
            throw JinjaException.limit("the template has " + source.length() + " characters (expected: at most "
                    + limits.maxSourceCharacters() + ")");
        }
        Parser parser = new Parser(new TokenStream(Lexer.tokens(source), limits.maxDepth()));
        return parser.body(Set.of(), "");
    }

    /// Statements up to a tag of one of these names; the tag's opening is taken, its name is not.
    private List<Statement> body(Set<String> ends, String opening) {
        tokens.enter();
        List<Statement> statements = new ArrayList<>();
        while (true) {
            Token token = tokens.take();
            switch (token.kind()) {
                case DATA -> statements.add(new Statement.Data(Text.of(token.text())));
                case OUTPUT_BEGIN -> {
                    statements.add(new Statement.Output(expressions.expressions(true)));
                    tokens.expect(Token.Kind.OUTPUT_END, "end of print statement");
                }
                case BLOCK_BEGIN -> {
                    if (tokens.current().isName(ends)) {
                        tokens.leave();
                        return List.copyOf(statements);
                    }
                    statements.add(statement());
                }
                default -> {
                    if (!ends.isEmpty()) {
                        throw JinjaException.syntax(
                                "unexpected end of template, the block '" + opening + "' is not closed",
                                token.position());
                    }
                    tokens.leave();
                    return List.copyOf(statements);
                }
            }
        }
    }

    private Statement statement() {
        Token tag = tokens.expect(Token.Kind.NAME, "the name of a tag");
        Position position = tag.position();
        return switch (tag.text()) {
            case "if" -> ifStatement();
            case "for" -> forStatement(position);
            case "set" -> setStatement(position);
            case "macro" -> new Statement.Macro(macro());
            case "call" -> callBlock(position);
            case "filter" -> filterBlock();
            case "with" -> with(position);
            case "generation" -> {
                endTag();
                List<Statement> body = withoutLoops("endgeneration", "generation");
                yield new Statement.Generation(body);
            }
            case "break" -> {
                requireLoop(tag);
                endTag();
                yield new Statement.Break();
            }
            case "continue" -> {
                requireLoop(tag);
                endTag();
                yield new Statement.Continue();
            }
            default -> {
                if (UNSUPPORTED.contains(tag.text())) {
                    throw JinjaException.unsupported("the tag '" + tag.text() + "'", position);
                }
                throw JinjaException.syntax("unknown tag '" + tag.text() + "'", position);
            }
        };
    }

    private void requireLoop(Token tag) {
        if (loops == 0) {
            throw JinjaException.syntax("'" + tag.text() + "' outside loop", tag.position());
        }
    }

    private void endTag() {
        tokens.skipOperator(":");
        tokens.expect(Token.Kind.BLOCK_END, "end of statement block");
    }

    /// The body of a tag up to its end tag, which is taken too.
    private List<Statement> block(String end, String opening) {
        List<Statement> body = body(Set.of(end), opening);
        tokens.take();
        tokens.expect(Token.Kind.BLOCK_END, "end of statement block");
        return body;
    }

    /// A body that is a function of its own: `break` cannot leave it.
    private List<Statement> withoutLoops(String end, String opening) {
        int outer = loops;
        loops = 0;
        List<Statement> body = block(end, opening);
        loops = outer;
        return body;
    }

    private Statement ifStatement() {
        List<Statement.Branch> branches = new ArrayList<>();
        List<Statement> otherwise = List.of();
        String tag = "elif";
        while (tag.equals("elif")) {
            Expr condition = expressions.expressions(false);
            endTag();
            branches.add(new Statement.Branch(condition, body(Set.of("elif", "else", "endif"), "if")));
            tag = tokens.take().text();
        }
        if (tag.equals("else")) {
            endTag();
            otherwise = body(Set.of("endif"), "if");
            tokens.take();
        }
        tokens.expect(Token.Kind.BLOCK_END, "end of statement block");
        return new Statement.If(List.copyOf(branches), otherwise);
    }

    private Statement forStatement(Position position) {
        Statement.Target target = target(false);
        if (!tokens.skipName("in")) {
            throw tokens.unexpected("'in'");
        }
        Expr items = expressions.expressions(false);
        Optional<Expr> filter = tokens.skipName("if") ? Optional.of(expressions.expression()) : Optional.empty();
        if (tokens.current().isName("recursive")) {
            throw JinjaException.unsupported(
                    "a recursive loop", tokens.current().position());
        }
        endTag();
        loops++;
        List<Statement> body = body(Set.of("else", "endfor"), "for");
        loops--;
        List<Statement> otherwise = List.of();
        if (tokens.take().text().equals("else")) {
            endTag();
            otherwise = body(Set.of("endfor"), "for");
            tokens.take();
        }
        tokens.expect(Token.Kind.BLOCK_END, "end of statement block");
        return new Statement.For(position, target, items, filter, body, otherwise);
    }

    private Statement.Target target(boolean withNamespace) {
        List<Statement.Target> targets = new ArrayList<>();
        boolean several = false;
        do {
            if (!targets.isEmpty()
                    && (tokens.current().isName("in") || tokens.current().isOperator("="))) {
                break;
            }
            targets.add(singleTarget(withNamespace));
            several |= tokens.current().isOperator(",");
        } while (tokens.skipOperator(","));
        return several ? new Statement.Target.Several(List.copyOf(targets)) : targets.getFirst();
    }

    private Statement.Target singleTarget(boolean withNamespace) {
        if (tokens.skipOperator("(")) {
            Statement.Target inner = target(withNamespace);
            tokens.expectOperator(")");
            return inner;
        }
        Token name = tokens.expect(Token.Kind.NAME, "a name to assign to");
        if (Set.of("true", "false", "none", "True", "False", "None").contains(name.text())) {
            throw JinjaException.syntax("can't assign to '" + name.text() + "'", name.position());
        }
        if (withNamespace && tokens.skipOperator(".")) {
            String attribute =
                    tokens.expect(Token.Kind.NAME, "the name of an attribute").text();
            return new Statement.Target.NamespaceAttribute(name.text(), attribute);
        }
        return new Statement.Target.Variable(name.text());
    }

    private Statement setStatement(Position position) {
        Statement.Target target = target(true);
        if (tokens.skipOperator("=")) {
            Expr value = expressions.expressions(true);
            tokens.expect(Token.Kind.BLOCK_END, "end of statement block");
            return new Statement.Set(position, target, value);
        }
        List<Statement.FilterCall> filters = new ArrayList<>();
        while (tokens.skipOperator("|")) {
            filters.add(expressions.filterCall());
        }
        endTag();
        return new Statement.SetBlock(position, target, List.copyOf(filters), block("endset", "set"));
    }

    private Statement.MacroDefinition macro() {
        String name = tokens.expect(Token.Kind.NAME, "the name of a macro").text();
        List<Statement.Parameter> parameters = parameters();
        endTag();
        return definition(name, parameters, "endmacro", "macro");
    }

    private Statement.MacroDefinition definition(
            String name, List<Statement.Parameter> parameters, String end, String opening) {
        boolean outer = expressions.usesCaller(false);
        List<Statement> body = withoutLoops(end, opening);
        boolean takesCaller = expressions.usesCaller(outer);
        return new Statement.MacroDefinition(name, parameters, body, takesCaller);
    }

    private List<Statement.Parameter> parameters() {
        List<Statement.Parameter> parameters = new ArrayList<>();
        tokens.expectOperator("(");
        while (!tokens.current().isOperator(")")) {
            Token name = tokens.expect(Token.Kind.NAME, "the name of a parameter");
            Optional<Expr> defaultValue =
                    tokens.skipOperator("=") ? Optional.of(expressions.expression()) : Optional.empty();
            if (defaultValue.isEmpty()
                    && !parameters.isEmpty()
                    && parameters.getLast().defaultValue().isPresent()) {
                throw JinjaException.syntax("non-default argument follows default argument", name.position());
            }
            parameters.add(new Statement.Parameter(name.text(), defaultValue));
            if (!tokens.skipOperator(",")) {
                break;
            }
        }
        tokens.expectOperator(")");
        return List.copyOf(parameters);
    }

    private Statement callBlock(Position position) {
        List<Statement.Parameter> parameters = tokens.current().isOperator("(") ? parameters() : List.of();
        if (!(expressions.expression() instanceof Expr.Call call)) {
            throw JinjaException.syntax("expected call", position);
        }
        endTag();
        return new Statement.CallBlock(position, definition("caller", parameters, "endcall", "call"), call);
    }

    private Statement filterBlock() {
        List<Statement.FilterCall> filters = new ArrayList<>();
        do {
            filters.add(expressions.filterCall());
        } while (tokens.skipOperator("|"));
        endTag();
        return new Statement.FilterBlock(List.copyOf(filters), block("endfilter", "filter"));
    }

    private Statement with(Position position) {
        List<Statement.Set> bindings = new ArrayList<>();
        while (tokens.current().kind() != Token.Kind.BLOCK_END) {
            Statement.Target target = singleTarget(false);
            tokens.expectOperator("=");
            bindings.add(new Statement.Set(position, target, expressions.expression()));
            if (!tokens.skipOperator(",")) {
                break;
            }
        }
        endTag();
        return new Statement.With(List.copyOf(bindings), block("endwith", "with"));
    }
}
