package io.millrace.engine.jinja;

import java.util.List;

/// Tokens with a place, and how deep the parser is in them.
final class TokenStream {
    private final List<Token> tokens;
    private final int maxDepth;
    private int next;
    private int depth;

    TokenStream(List<Token> tokens, int maxDepth) {
        this.tokens = tokens;
        this.maxDepth = maxDepth;
    }

    Token current() {
        return tokens.get(next);
    }

    Token following() {
        return tokens.get(Math.min(next + 1, tokens.size() - 1));
    }

    Token take() {
        Token token = tokens.get(next);
        if (next < tokens.size() - 1) {
            next++;
        }
        return token;
    }

    boolean skipOperator(String operator) {
        if (current().isOperator(operator)) {
            take();
            return true;
        }
        return false;
    }

    boolean skipName(String name) {
        if (current().isName(name)) {
            take();
            return true;
        }
        return false;
    }

    Token expect(Token.Kind kind, String expected) {
        if (current().kind() != kind) {
            throw unexpected(expected);
        }
        return take();
    }

    void expectOperator(String operator) {
        if (!skipOperator(operator)) {
            throw unexpected("'" + operator + "'");
        }
    }

    JinjaException unexpected(String expected) {
        return JinjaException.syntax(
                "unexpected " + current().describe() + " (expected: " + expected + ")",
                current().position());
    }

    void enter() {
        if (++depth > maxDepth) {
            throw JinjaException.limit("the template nests deeper than " + maxDepth + " levels")
                    .at(current().position());
        }
    }

    void leave() {
        depth--;
    }
}
