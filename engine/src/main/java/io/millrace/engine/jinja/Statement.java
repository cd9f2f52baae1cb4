package io.millrace.engine.jinja;

import java.util.List;
import java.util.Optional;

/// A statement, or text between statements.
sealed interface Statement {

    /// Literal text.
    record Data(Text text) implements Statement {}

    /// `{{ expression }}`
    record Output(Expr expression) implements Statement {}

    /// `{% if %}`
    record If(List<Branch> branches, List<Statement> otherwise) implements Statement {}

    /// A condition with what it guards.
    record Branch(Expr condition, List<Statement> body) {}

    /// `{% for target in items if filter %}`
    record For(
            Position position,
            Target target,
            Expr items,
            Optional<Expr> filter,
            List<Statement> body,
            List<Statement> otherwise)
            implements Statement {}

    /// `{% set target = value %}`
    record Set(Position position, Target target, Expr value) implements Statement {}

    /// `{% set target | filters %}body{% endset %}`
    record SetBlock(Position position, Target target, List<FilterCall> filters, List<Statement> body)
            implements Statement {}

    /// `{% filter filters %}body{% endfilter %}`
    record FilterBlock(List<FilterCall> filters, List<Statement> body) implements Statement {}

    /// A filter whose target is the text of a block.
    record FilterCall(Position position, String name, Expr.CallArguments arguments) {}

    /// `{% macro name(parameters) %}`
    record Macro(MacroDefinition definition) implements Statement {}

    /// `{% call(parameters) call %}body{% endcall %}`
    record CallBlock(Position position, MacroDefinition caller, Expr.Call call) implements Statement {}

    /// A body with parameters.
    ///
    /// @param takesCaller  whether the body uses `caller`
    record MacroDefinition(String name, List<Parameter> parameters, List<Statement> body, boolean takesCaller) {}

    /// A parameter of a macro.
    record Parameter(String name, Optional<Expr> defaultValue) {}

    /// `{% generation %}body{% endgeneration %}`: marks what the assistant wrote; renders as its body.
    record Generation(List<Statement> body) implements Statement {}

    /// `{% with a = b %}body{% endwith %}`
    record With(List<Set> bindings, List<Statement> body) implements Statement {}

    /// `{% break %}`
    record Break() implements Statement {}

    /// `{% continue %}`
    record Continue() implements Statement {}

    /// What a value is assigned to.
    sealed interface Target {
        /// A variable.
        record Variable(String name) implements Target {}

        /// An attribute of a namespace.
        record NamespaceAttribute(String namespace, String name) implements Target {}

        /// Several targets, which take a value apart.
        record Several(List<Target> targets) implements Target {}
    }
}
