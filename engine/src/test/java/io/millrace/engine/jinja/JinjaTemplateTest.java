package io.millrace.engine.jinja;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.millrace.engine.text.MarkedText;
import java.math.BigInteger;
import java.time.Clock;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.assertj.core.api.AbstractThrowableAssert;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/// The fifteen points where a new renderer usually differs, origins of text, limits and errors.
class JinjaTemplateTest {
    private static final Clock CLOCK = Clock.fixed(Instant.parse("2026-03-05T07:08:09Z"), ZoneOffset.UTC);

    private static MarkedText marked(String template, Map<String, ? extends @Nullable Object> variables) {
        return JinjaTemplate.parse(template, JinjaLimits.DEFAULT).render(variables, CLOCK);
    }

    private static String render(String template, Map<String, ? extends @Nullable Object> variables) {
        return marked(template, variables).text();
    }

    private static String render(String template) {
        return render(template, Map.of());
    }

    private static AbstractThrowableAssert<?, ?> failure(String template) {
        return assertThatThrownBy(() -> render(template)).isInstanceOf(JinjaException.class);
    }

    private static Map<String, @Nullable Object> dict(@Nullable Object... pairs) {
        Map<String, @Nullable Object> dict = new LinkedHashMap<>();
        for (int i = 0; i < pairs.length; i += 2) {
            dict.put(String.valueOf(pairs[i]), pairs[i + 1]);
        }
        return dict;
    }

    // 1

    @Test
    void printsPythonsTextForms() {
        assertThat(render("{{ none }} {{ true }} {{ 1.0 }} {{ 1e-7 }} {{ 1e16 }} {{ 123456789.5 }} {{ 0.0001 }}"))
                .isEqualTo("None True 1.0 1e-07 1e+16 123456789.5 0.0001");
        assertThat(render("{{ {'a': [1, none, (2,)], 'b': \"it's\"} }}"))
                .isEqualTo("{'a': [1, None, (2,)], 'b': \"it's\"}");
        assertThat(render("{{ 1 ~ none ~ 2.50 }}|{{ none | string }}")).isEqualTo("1None2.5|None");
    }

    @Test
    void writesJsonAsPythonDoes() {
        Map<String, @Nullable Object> value = dict(
                "z",
                Arrays.asList(1, null, true),
                "a",
                "<é \"\n\u0001👋>",
                "n",
                new BigInteger("123456789012345678901234567890"),
                "f",
                Arrays.asList(1e-7, -0.0, 1.0),
                "e",
                dict(),
                "l",
                List.of());

        assertThat(render("{{ v | tojson }}", dict("v", value)))
                .isEqualTo("{\"z\": [1, null, true], \"a\": \"<é \\\"\\n\\u0001👋>\", \"n\": "
                        + "123456789012345678901234567890,"
                        + " \"f\": [1e-07, -0.0, 1.0], \"e\": {}, \"l\": []}");
        assertThat(render("{{ {'b': [1, {}], 'a': []} | tojson(indent=4) }}"))
                .isEqualTo("{\n    \"b\": [\n        1,\n        {}\n    ],\n    \"a\": []\n}");
        assertThat(render("{{ {'b': 'é👋', 'a': 1} | tojson(ensure_ascii=true, separators=(',', "
                        + "':'), sort_keys=true) }}"))
                .isEqualTo("{\"a\":1,\"b\":\"\\u00e9\\ud83d\\udc4b\"}");
        failure("{{ u | tojson }}").hasMessageContaining("not JSON serializable");
    }

    // 2

    @Test
    void looksForMethodsBeforeKeysAfterADotAndTheOtherWayRoundInBrackets() {
        Map<String, @Nullable Object> schema = dict("v", dict("items", dict("type", "string"), "get", 1));

        assertThat(render("{{ v['items'].type }} {{ v['get'] }} {{ v.items() | list | length }}", schema))
                .isEqualTo("string 1 2");
        assertThat(render("{{ v.get('keys', 'none') }} {{ v['values']() | list }}", dict("v", dict("a", 1))))
                .isEqualTo("none [1]");
    }

    // 3

    @Test
    void letsUndefinedPassWhereTheReferenceDoes() {
        assertThat(render(
                        "[{{ u }}]{{ u ~ 1 }}{% for x in u %}x{% endfor %}{{ 'y' if u }}{{ u == w }}{{ u | length }}"))
                .isEqualTo("[]1True0");
        assertThat(render("{{ {}.a is undefined }}{{ none is undefined }}")).isEqualTo("TrueFalse");
    }

    @ParameterizedTest
    @CsvSource(
            quoteCharacter = '`',
            delimiter = '¦',
            value = {"u.a", "u['a']", "u()", "u + 1", "'a' + u", "-u", "{}.a.b", "u < 1", "u[1:]"})
    void refusesToUseUndefined(String expression) {
        failure("{{ " + expression + " }}");
    }

    // 4

    @Test
    void takesNegativeIndicesFromTheEnd() {
        assertThat(render(
                        "{% for x in l %}{{ l[loop.index0 - 1] }}{% endfor %}{{ l[7] is undefined }}",
                        dict("l", List.of(1, 2, 3))))
                .isEqualTo("312True");
    }

    // 5

    @Test
    void countsCodePoints() {
        Map<String, @Nullable Object> text = dict("s", "a👋b");

        assertThat(render("{{ s | length }}{{ s[1] }}{{ s[::-1] }}{{ s[1:] }}{{ s.find('b') }}", text))
                .isEqualTo("3👋b👋a👋b2");
    }

    @Test
    void stripsAllUnicodeWhiteSpace() {
        String blanks = "\u00a0\u0085\u001c\u001f\u3000\u2003 \t\n";

        assertThat(render("[{{ s.strip() }}][{{ s | trim }}]", dict("s", blanks + "x" + blanks)))
                .isEqualTo("[x][x]");
        assertThat(render("[{{ s.strip() }}]", dict("s", "\u200bx\ufeff"))).isEqualTo("[\u200bx\ufeff]");
    }

    @Test
    void splitsWordsUnlikeBlanks() {
        Map<String, @Nullable Object> text = dict("s", " a  b ");

        assertThat(render("{{ s.split() }}{{ s.split(' ') }}{{ s.split(none, 1) }}", text))
                .isEqualTo("['a', 'b']['', 'a', '', 'b', '']['a', 'b ']");
        assertThat(render("{{ 'x\\n\\ny\\n'.rstrip('\\n') }}|{{ 'abcab'.strip('ab') }}"))
                .isEqualTo("x\n\ny|c");
    }

    // 6

    @Test
    void returnsAnOperandFromAndAndOr() {
        assertThat(render("{{ 0 or 'a' }}{{ 'b' and [] }}{{ '' or none }}{{ 1 and 2 }}"))
                .isEqualTo("a[]None2");
    }

    @Test
    void comparesAsPythonDoes() {
        assertThat(render("{{ 1 == true }}{{ 1 == 1.0 }}{{ '1' == 1 }}{{ [1] == (1,) }}{{ 1 < 2 < "
                        + "3 }}{{ none == false }}"))
                .isEqualTo("TrueTrueFalseFalseTrueFalse");
        assertThat(render("{{ {1: 'x'}[true] }}{{ 10**20 == 1e20 }}")).isEqualTo("xTrue");
    }

    @ParameterizedTest
    @CsvSource(
            quoteCharacter = '`',
            delimiter = '¦',
            value = {
                "'a' + 1",
                "'a' + []",
                "'a' in none",
                "1 in 'a'",
                "1 < 'a'",
                "[] + ()",
                "none + 1",
                "1 / 0",
                "5 % 0"
            })
    void refusesToMixTypes(String expression) {
        failure("{{ " + expression + " }}");
    }

    // 7

    @Test
    void testsTypesAsJinjaDoes() {
        assertThat(render("{{ 'a' is iterable }}{{ 'a' is sequence }}{{ {} is iterable }}{{ {} is "
                        + "sequence }}{{ true is number }}"))
                .isEqualTo("TrueTrueTrueTrueTrue");
        assertThat(render("{{ none is undefined }}{{ none is iterable }}{{ 1 is sequence }}{{ "
                        + "true is integer }}{{ none is not none }}"))
                .isEqualTo("FalseFalseFalseFalseFalse");
    }

    // 8

    @Test
    void keepsSetInsideTheLoopButNotInsideIf() {
        assertThat(render("{% set x = 1 %}{% for i in [1, 2] %}{{ x }}{% set x = 5 %}{{ x }}{% endfor %}{{ x }}"))
                .isEqualTo("15151");
        assertThat(render("{% if true %}{% set y = 2 %}{% endif %}{{ y }}")).isEqualTo("2");
        assertThat(render("{% set ns = namespace(n=0) %}{% for i in [1, 2] %}{% set ns.n = ns.n + "
                        + "i %}{% endfor %}{{ ns.n }}"))
                .isEqualTo("3");
    }

    @Test
    void showsMacrosTheVariablesSetAtTheTimeOfTheCall() {
        assertThat(render("{% macro m(a, b='d') %}{{ x }}{{ a }}{{ b }}{% endmacro %}{{ m(1) }}{% "
                        + "set x = 'X' %}{{ m(2, b=3) }}"))
                .isEqualTo("1dX23");
        assertThat(render("{% set a = 'out' %}{% macro m(a) %}{{ a }}{% endmacro %}{{ m('in') }}{{ a }}"))
                .isEqualTo("inout");
    }

    @Test
    void callsMacrosWithABlock() {
        assertThat(render("{% macro box(t) %}<{{ t }}:{{ caller(2) }}>{% endmacro %}{% call(n) "
                        + "box('a') %}b{{ n }}{% endcall %}"))
                .isEqualTo("<a:b2>");
        assertThat(render("a{% generation %}{% set q = 1 %}b{{ q }}{% endgeneration %}{{ q is defined }}"))
                .isEqualTo("ab1False");
    }

    // 9

    @Test
    void trimsBlocksAndIndentsOfBlocks() {
        assertThat(render("  {% if true %}\n  a\n  {% endif %}\nb\n")).isEqualTo("  a\nb");
        assertThat(render("x {# c #}\ny {{ 1 }}\n  {{ 2 }}\n")).isEqualTo("x y 1\n  2");
        assertThat(render("a \n\n {%- set x = 1 -%} \n\n b")).isEqualTo("ab");
        assertThat(render("a\n  {%+ if true +%}\nb{% endif %}")).isEqualTo("a\n  \nb");
        assertThat(render("a\n\n")).isEqualTo("a\n");
        assertThat(render("a\r\nb\r")).isEqualTo("a\nb");
        assertThat(render("{% raw %}{{ x }}{% endraw %}")).isEqualTo("{{ x }}");
    }

    // 10

    @ParameterizedTest
    @CsvSource(
            quoteCharacter = '`',
            delimiter = '¦',
            value = {
                "[].append(1)",
                "{}.update({})",
                "{'a': 1}.pop('a')",
                "[1].sort()",
                "''.__class__.x",
                "{}.__init__()"
            })
    void keepsTheSandbox(String expression) {
        failure("{{ " + expression + " }}");
    }

    // 11

    @Test
    void looksAheadInLoops() {
        assertThat(render("{% for x in [1, 2, 3, 4] if x % 2 == 0 %}{{ loop.index0 }}{{ loop.last "
                        + "}}{{ loop.previtem }}|{{ loop.nextitem }};{% endfor %}"))
                .isEqualTo("0False|4;1True2|;");
        assertThat(render("{% for x in [1, 2, 3] %}{% if x == 2 %}{% continue %}{% endif %}{{ x "
                        + "}}{% if loop.last %}!{% break %}{% endif %}{% else %}e{% endfor %}"))
                .isEqualTo("13!");
        assertThat(render("{% for x in [1] %}{% break %}{% else %}e{% endfor %}"))
                .isEqualTo("e");
        assertThat(render("{% for x in [] %}{% else %}empty{% endfor %}{% for a, b in {'k': "
                        + "1}.items() %}{{ a }}{{ b }}{% endfor %}"))
                .isEqualTo("emptyk1");
    }

    // 12

    @Test
    void filtersAsJinjaDoes() {
        assertThat(render("{{ \"hello wORLD-x (y) o'neil\" | title }}|{{ 'aBC' | capitalize }}|"
                        + "{{ 'straße' | upper }}"))
                .isEqualTo("Hello World-X (Y) O'neil|Abc|STRASSE");
        assertThat(render("{{ u | default('x') }}{{ '' | default('x') }}{{ '' | default('y', "
                        + "true) }}{{ none | default('z') }}"))
                .isEqualTo("xyNone");
        assertThat(render("{{ 'a\\n\\nb' | indent }}|{{ 'a\\nb' | indent(2, first=true) }}"))
                .isEqualTo("a\n\n    b|  a\n  b");
        assertThat(render("{{ {'b': 1, 'A': 2} | dictsort }}{{ [1, none, 'a'] | join('-') }}"))
                .isEqualTo("[('A', 2), ('b', 1)]1-None-a");
        assertThat(render("{{ [{'a': 1}, {'a': 2}] | selectattr('a', 'eq', 2) | "
                        + "map(attribute='a') | list }}{{ u | items | list }}"))
                .isEqualTo("[2][]");
        assertThat(render("{{ ['a', 'A', 'b'] | unique | list }}{{ [3, none, 1] | reject('none') "
                        + "| sort }}{{ 'x' | replace('x', 'yy') }}"))
                .isEqualTo("['a', 'b'][1, 3]yy");
        assertThat(render("{{ '{\"a\": [1, 2.5]}' | from_json }}{{ '42.9' | int }}{{ 'q' | int(7) }}"))
                .isEqualTo("{'a': [1, 2.5]}427");
        failure("{{ ([1] | map('string'))[0].x }}");
        failure("{{ [1] | map('string') | length }}");
    }

    @Test
    void escapesWhatIsAddedToSafeText() {
        assertThat(render("{{ '<a>' | safe }}{{ ('<a>' | safe) + '<b>' }}{{ ('<a>' | safe) ~ '<b>' }}"))
                .isEqualTo("<a><a>&lt;b&gt;<a><b>");
    }

    // 13

    @Test
    void writesTimesInEnglish() {
        assertThat(render("{{ strftime_now('%d %B %Y') }}|{{ strftime_now('%Y-%m-%d') }}|{{ "
                        + "strftime_now('%b %a %H:%M:%S %-d %I%p %j %%') }}"))
                .isEqualTo("05 March 2026|2026-03-05|Mar Thu 07:08:09 5 07AM 064 %");
        failure("{{ strftime_now('%Q') }}").hasMessageContaining("%Q is not supported");
    }

    // 14

    @Test
    void readsAllLiterals() {
        assertThat(render("{{ True }}{{ None }}{{ False }}{{ 'a\\n\\t\\\\\\'\\u00e9' }}{{ \"q\" "
                        + "'r' }}{{ [1,2,].1 }}{{ {'a': 1,}.a }}{{ 1_000 }}"))
                .isEqualTo("TrueNoneFalsea\n\t\\'éqr211000");
        assertThat(render("{% macro m(a, b,) %}{{ a }}{{ b }}{% endmacro %}{{ m(1, 2,) }}"))
                .isEqualTo("12");
    }

    // 15

    @Test
    void doesNotLookIntoMessageText() {
        assertThat(render("{{ s }}", dict("s", "{{ 1 }}{% if %}{# x #}"))).isEqualTo("{{ 1 }}{% if %}{# x #}");
    }

    @Test
    void keepsOriginsThroughOperations() {
        Map<String, @Nullable Object> text = dict("s", " a<b,c ", "l", List.of("x", "y"), "k", dict("é", 1.5));
        String template =
                "{{ '[' + s.strip() + ']' }}{{ s[1:3] }}-{{ s.split(',')[1].strip() }}{{ '<' ~ (l | join('+')) ~ '>' }}"
                        + "{{ s.replace('b', '!') | upper }}{{ {'n': l} | tojson }}{{ k }}{{ '%s=%s' % "
                        + "(s.strip(), 1) }}{{ l | map('upper') | first }}";

        assertThat(marked(template, text).spans())
                .containsExactly(
                        new MarkedText.Span("[", false),
                        new MarkedText.Span("a<b,c", true),
                        new MarkedText.Span("]", false),
                        new MarkedText.Span("a<", true),
                        new MarkedText.Span("-", false),
                        new MarkedText.Span("c", true),
                        new MarkedText.Span("<", false),
                        new MarkedText.Span("x", true),
                        new MarkedText.Span("+", false),
                        new MarkedText.Span("y", true),
                        new MarkedText.Span(">", false),
                        new MarkedText.Span(" A<", true),
                        new MarkedText.Span("!", false),
                        new MarkedText.Span(",C {\"n\": [\"x\", \"y\"]}", true),
                        new MarkedText.Span("{'", false),
                        new MarkedText.Span("é", true),
                        new MarkedText.Span("': 1.5}", false),
                        new MarkedText.Span("a<b,c", true),
                        new MarkedText.Span("=1", false),
                        new MarkedText.Span("X", true));
    }

    @ParameterizedTest
    @CsvSource(
            quoteCharacter = '`',
            delimiter = '¦',
            value = {
                "a{% include 'x' %}¦the tag 'include' is not supported (line 1, column 5)",
                "a {{ b }}{{ 'x' | xmlattr }}¦the filter 'xmlattr' is not supported (line 1, column 19)",
                "{{ 1 is prime }}¦the test 'prime' is not supported (line 1, column 6)",
                "{{ 'é' + ('a'.encode()) }}¦the method str.encode is not supported",
                "{% for x in y recursive %}{% endfor %}¦a recursive loop is not supported (line 1, column 15)",
                "{{ '%5d' % 1 }}¦the format %5 is not supported",
                "{% if %}¦unexpected end of statement block (expected: an expression) (line 1, column 7)",
                "{{ 1 + }}¦unexpected end of print statement (expected: an expression) (line 1, column 8)",
                "{% nonsense %}¦unknown tag 'nonsense' (line 1, column 4)",
                "{{ u.x }}¦'u' is undefined (line 1, column 5)",
                "{{ 'abc ¦a string is not closed (line 1, column 4)"
            })
    void namesWhatIsWrongAndWhere(String template, String message) {
        failure(template).hasMessageStartingWith(message);
    }

    @ParameterizedTest
    @CsvSource(
            quoteCharacter = '`',
            delimiter = '¦',
            value = {
                "{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}¦steps",
                "{{ range(100001) }}¦items",
                "{{ [1] * 1000000000 }}¦items",
                "{{ 'abc' * 1000000000 }}¦characters",
                "{% set ns = namespace(s='ab') %}{% for i in range(60) %}{% set ns.s = ns.s + ns.s %}{% "
                        + "endfor %}¦characters",
                "{% set ns = namespace(n=7) %}{% for i in range(60) %}{% set ns.n = ns.n * ns.n %}{% endfor %}¦bits",
                "{{ 9 ** 999999999 }}¦bits",
                "{{ ('x' * 100000) | replace('x', 'y' * 1000000) }}¦characters",
                "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}¦levels",
                "{{ 'x'.center(2000000000) }}¦characters",
                "{{ {} | tojson(indent=2000000000) }}¦characters",
                "{{ 'x' | indent(2000000000, true) }}¦characters"
            })
    void stopsRunawayTemplates(String template, String what) {
        failure(template)
                .hasMessageContaining(what)
                .satisfies(e -> assertThat(((JinjaException) e).kind()).isEqualTo(JinjaException.Kind.LIMIT));
    }

    @Test
    void stopsDeepNesting() {
        failure("{{ " + "(".repeat(5000) + "1" + ")".repeat(5000) + " }}").hasMessageContaining("levels");
        failure("{{ " + "not ".repeat(5000) + "1 }}").hasMessageContaining("levels");
        failure("{{ " + "-".repeat(5000) + "1 }}").hasMessageContaining("levels");
        failure("{% if 1 %}".repeat(5000)).hasMessageContaining("levels");
        Object nested = List.of();
        for (int i = 0; i < 5000; i++) {
            nested = List.of(nested);
        }
        Map<String, @Nullable Object> variables = dict("v", nested);
        assertThatThrownBy(() -> render("{{ v }}", variables)).hasMessageContaining("levels");
    }

    @Test
    void stopsAtValuesNestedByALoop() {
        String nest = "{% set ns = namespace(a=[], b=[]) %}{% for i in range(90000) %}"
                + "{% set ns.a = [ns.a] %}{% set ns.b = [ns.b] %}{% endfor %}";

        failure(nest + "{{ ns.a == ns.b }}").hasMessageContaining("too deep");
        failure(nest + "{{ ns.a }}").hasMessageContaining("levels");
    }

    @Test
    void survivesAnyPrefixOfATemplate() {
        String template = "{%- for m in x if m -%}{{ m['a'] | tojson(indent=2) }}{% raw %}{{{% endraw %}{# c #}{% "
                + "endfor %}{{ 'a\\u00e9' ~ {'k': [1, (2,)]} }}";
        for (int i = 0; i <= template.length(); i++) {
            String prefix = template.substring(0, i);
            try {
                JinjaTemplate.parse(prefix, JinjaLimits.DEFAULT);
            } catch (JinjaException e) {
                assertThat(e.line()).as(prefix).isEqualTo(1);
            }
        }
    }

    @Test
    void foldsCaseInFull() {
        assertThat(render("{{ 'ﬁn ẞß ΣΑΣ ŉ ıI Ꭰꭰ µſ'.casefold() }}")).isEqualTo("fin ssss σασ ʼn ıi ᎠᎠ μs");
    }

    @Test
    void partitionsSafeTextIntoSafeParts() {
        assertThat(render("{{ ('<b>l' | escape).rpartition('l') }}"))
                .isEqualTo("(Markup('&lt;b&gt;'), Markup('l'), Markup(''))");
    }
}
