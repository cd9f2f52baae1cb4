package io.millrace.engine.jinja;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.time.Clock;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/// Random templates, compared with Python's Jinja2: the same text, or an error on both sides.
///
/// `-Dmillrace.seed=N` runs the one template of that seed.
class JinjaAgainstReferenceTest {
    private static final Clock CLOCK =
            Clock.fixed(LocalDateTime.parse(Jinja2Oracle.NOW).toInstant(ZoneOffset.UTC), ZoneOffset.UTC);
    private static final int FIRST_SEED = 1000;

    @Test
    void agreesOnASampleOfRandomTemplates() {
        compare(FIRST_SEED, 400);
    }

    @Test
    @Tag("soak")
    void agreesOnManyRandomTemplates() {
        compare(2 * FIRST_SEED, 40_000);
    }

    private static void compare(long firstSeed, int count) {
        long from = Long.getLong("millrace.seed", firstSeed);
        int size = System.getProperty("millrace.seed") == null ? count : 1;
        Optional<Jinja2Oracle> started = Jinja2Oracle.start();
        assumeTrue(started.isPresent(), "python3 with jinja2 is missing");
        List<String> differences = new ArrayList<>();
        int rendered = 0;
        try (Jinja2Oracle oracle = started.get()) {
            for (long seed = from; seed < from + size; seed++) {
                TemplateGenerator generator = new TemplateGenerator(seed);
                Map<String, @Nullable Object> variables = generator.variables();
                String template = seed % 3 == 0 ? generator.template(2) : "{{ " + generator.expression(3) + " }}";
                Optional<Jinja2Oracle.Answer> ours = ours(template, variables);
                if (ours.isEmpty()) {
                    continue;
                }
                Jinja2Oracle.Answer theirs = oracle.render(template, variables);
                boolean bothFail = ours.get() instanceof Jinja2Oracle.Answer.Failed
                        && theirs instanceof Jinja2Oracle.Answer.Failed;
                if (!bothFail && !ours.get().equals(theirs)) {
                    differences.add("seed " + seed + "\n" + template + "\n" + variables + "\nours: " + ours.get()
                            + "\ntheirs: " + theirs);
                }
                rendered += ours.get() instanceof Jinja2Oracle.Answer.Rendered ? 1 : 0;
            }
        }
        assertThat(differences).isEmpty();
        assertThat(rendered).isGreaterThanOrEqualTo(size / 2);
    }

    /// Empty where we say that we do not support something, or stop for a limit: those are no
    /// differences.
    private static Optional<Jinja2Oracle.Answer> ours(String template, Map<String, @Nullable Object> variables) {
        try {
            String text = JinjaTemplate.parse(template, JinjaLimits.DEFAULT)
                    .render(variables, CLOCK)
                    .text();
            return Optional.of(new Jinja2Oracle.Answer.Rendered(text));
        } catch (JinjaException e) {
            return switch (e.kind()) {
                case UNSUPPORTED, LIMIT -> Optional.empty();
                case SYNTAX, RUNTIME, RAISED ->
                    Optional.of(new Jinja2Oracle.Answer.Failed(String.valueOf(e.getMessage())));
            };
        }
    }
}
