package io.millrace.engine.jinja;

import io.millrace.engine.text.MarkedText;
import java.time.Clock;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/// A parsed template. Renders as Jinja2 does in transformers: `trim_blocks`, `lstrip_blocks`, an
/// immutable sandbox, `break` and `continue`, the `generation` tag, and the functions `raise_exception`
/// and `strftime_now`.
///
/// Immutable; may be used by several threads.
public final class JinjaTemplate {
    private final List<Statement> statements;
    private final JinjaLimits limits;

    private JinjaTemplate(List<Statement> statements, JinjaLimits limits) {
        this.statements = statements;
        this.limits = limits;
    }

    /// Parses a template.
    ///
    /// @throws JinjaException if it is no valid template, or uses a tag this subset does not have
    public static JinjaTemplate parse(String source, JinjaLimits limits) {
        return new JinjaTemplate(Parser.parse(source, limits), limits);
    }

    /// Renders the template.
    ///
    /// @param variables  plain Java values as JSON parsers make them; every `String` in them is text of
    ///                   the caller, a [MarkedText] is what it says
    /// @param clock      what `strftime_now` reads
    /// @throws JinjaException if the template fails, refuses its input, or runs against a limit
    public MarkedText render(Map<String, ? extends @Nullable Object> variables, Clock clock) {
        Budget budget = new Budget(limits);
        Renderer renderer = new Renderer(budget);
        try {
            Scope given = new Scope(Globals.scope(clock, budget));
            variables.forEach((name, value) -> given.set(name, JavaValues.of(value, budget)));
            return renderer.render(statements, new Scope(given)).toMarkedText();
        } catch (JinjaException e) {
            throw e.at(renderer.position());
        } catch (StackOverflowError e) {
            // A value a loop has nested deeper than any operation can follow.
            throw JinjaException.limit("the template nests a value too deep").at(renderer.position());
        }
    }
}
