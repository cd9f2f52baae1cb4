package io.millrace.engine.jinja;

/// Arithmetic operators.
enum BinaryOperator {
    ADD("+"),
    SUBTRACT("-"),
    MULTIPLY("*"),
    DIVIDE("/"),
    FLOOR_DIVIDE("//"),
    MODULO("%"),
    POWER("**");

    private final String sign;

    BinaryOperator(String sign) {
        this.sign = sign;
    }

    String sign() {
        return sign;
    }
}
