package io.millrace.engine.jinja;

/// Comparison operators.
enum CompareOperator {
    EQUAL("=="),
    NOT_EQUAL("!="),
    LESS("<"),
    LESS_OR_EQUAL("<="),
    GREATER(">"),
    GREATER_OR_EQUAL(">="),
    IN("in"),
    NOT_IN("not in");

    private final String sign;

    CompareOperator(String sign) {
        this.sign = sign;
    }

    String sign() {
        return sign;
    }
}
