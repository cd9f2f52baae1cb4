package io.millrace.engine.jinja;

import java.math.BigInteger;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.jspecify.annotations.Nullable;

/// Writes random templates over random values; the same seed gives the same ones.
final class TemplateGenerator {
    private enum Type {
        TEXT,
        NUMBER,
        LIST,
        DICT,
        ANY
    }

    private static final String[] TEXTS = {
        "",
        "a",
        "abc",
        "Hello World",
        "straße ß",
        "👋a👋b",
        " \u00a0x\u3000 ",
        "a,b,,c",
        "it's \"q\"",
        "<b>&'",
        "12",
        "-3.5",
        "l1\nl2\n\nl3\n",
        "ΑΣ Σ",
        "\t tab\u001c",
        "x-y (z) {q} [w]",
        "</think>a<think>b",
        "\\ \u0007\u200b",
        "1_0",
        "inf",
        "content",
        "%s %%",
        "{} {}",
        "mIxEd cAsE",
        "\r\nend\r",
        "ﬁn"
    };
    private static final String[] NUMBERS = {
        "0",
        "1",
        "2",
        "-1",
        "3",
        "7",
        "-4",
        "10",
        "2.5",
        "-0.5",
        "1e16",
        "1e-7",
        "1.0",
        "0.1",
        "123456789012345678901234567890",
        "true",
        "false",
        "-0.0",
        "1e22",
        "3.14159"
    };
    private static final String[] NAMES = {"s", "t", "i", "f", "l", "d", "m", "n", "b", "u", "big", "nested"};
    private static final String[] KEYS = {"a", "b", "items", "get", "role", "content", "c d", "keys", "x"};
    private static final String[] TESTS = {
        "defined",
        "undefined",
        "none",
        "string",
        "mapping",
        "iterable",
        "sequence",
        "number",
        "integer",
        "float",
        "boolean",
        "true",
        "false",
        "odd",
        "even",
        "lower",
        "upper",
        "callable",
        "divisibleby(3)",
        "eq(1)",
        "in([1,'a'])",
        "ne('a')",
        "gt(1)",
        "lt(2)",
        "ge(0)",
        "divisibleby 2",
        "sameas(true)"
    };
    private static final String[] TEXT_FILTERS = {
        "upper",
        "lower",
        "title",
        "capitalize",
        "trim",
        "string",
        "replace('a', 'bb')",
        "replace('', '-')",
        "indent",
        "indent(2, true)",
        "indent(first=true, blank=true, width=1)",
        "default('z')",
        "default('z', true)",
        "safe",
        "escape",
        "tojson",
        "tojson(ensure_ascii=true)",
        "trim('a')",
        "replace('l', '', 1)",
        "reverse",
        "format(1, 2)",
        "list|join"
    };
    private static final String[] TEXT_METHODS = {
        "strip()", "lstrip()", "rstrip()", "upper()", "lower()", "title()", "capitalize()", "strip('a ')",
                "rstrip('\\n')", "replace('a', 'x')",
        "replace('l', 'LL', 1)", "swapcase()", "zfill(6)", "ljust(5, '.')", "rjust(5)", "center(6)",
                "removeprefix('a')", "removesuffix('c')", "join(['x', 'y'])", "format(1, 'z')",
        "split('</think>')[-1]", "split()[0]", "split(',')[0]", "partition(',')[0]", "casefold()", "lstrip('<b>')"
    };
    private static final String[] NUMBER_METHODS = {
        "find('a')",
        "rfind('l')",
        "count('l')",
        "count('')",
        "startswith('a')",
        "endswith('c')",
        "isdigit()",
        "isalpha()",
        "isspace()",
        "isupper()",
        "islower()",
        "isalnum()",
        "index('a')",
        "startswith(('x', 'a'))",
        "find('b', 1)",
        "find('', 9)",
        "rfind('', 1)",
        "isdecimal()"
    };
    private static final String[] LIST_METHODS = {
        "split()",
        "split(',')",
        "split(' ', 1)",
        "rsplit(',', 1)",
        "rsplit(none, 1)",
        "splitlines()",
        "splitlines(true)",
        "partition('b')",
        "rpartition('l')",
        "split(sep='l', maxsplit=1)"
    };
    private static final String[] LIST_FILTERS = {
        "list",
        "sort",
        "unique|list",
        "reverse|list",
        "map('upper')|list",
        "map(attribute='a')|list",
        "select|list",
        "reject('none')|list",
        "select('string')|list",
        "selectattr('a')|list",
        "rejectattr('a', 'defined')|list",
        "selectattr('a', 'eq', 1)|list",
        "sort(reverse=true)",
        "sort(attribute='a')",
        "map('string')|list",
        "dictsort",
        "items|list",
        "map(attribute='a', default='D')|list",
        "map('default', 'Q')|list",
        "sort(case_sensitive=true)",
        "unique(attribute='a')|list",
        "map(attribute='a.b')|list"
    };
    private static final String[] NUMBER_FILTERS = {
        "length",
        "count",
        "int",
        "float",
        "abs",
        "round",
        "round(1)",
        "sum",
        "int(5)",
        "min",
        "max",
        "round(-1)",
        "default(3)"
    };
    private static final String[] ANY_FILTERS = {
        "first",
        "last",
        "default('z')",
        "tojson",
        "string",
        "tojson(indent=2)",
        "tojson(separators=(',', ':'))",
        "tojson(sort_keys=true)",
        "attr('a')",
        "length",
        "list",
        "int",
        "upper",
        "join(', ')",
        "join",
        "min",
        "max",
        "items|list",
        "tojson(indent='\\t')",
        "join('-', attribute='a')"
    };
    private static final String[] OPERATORS = {"+", "-", "*", "/", "//", "%"};
    private static final String[] COMPARISONS = {"==", "!=", "<", "<=", ">", ">=", "in", "not in"};

    private final Random random;

    TemplateGenerator(long seed) {
        this.random = new Random(seed);
    }

    private Type randomType() {
        return List.of(Type.values()).get(random.nextInt(5));
    }

    private String pick(String... choices) {
        return choices[random.nextInt(choices.length)];
    }

    /// Values for the names templates use; `u` stays undefined.
    Map<String, @Nullable Object> variables() {
        Map<String, @Nullable Object> variables = new LinkedHashMap<>();
        variables.put("s", pick(TEXTS));
        variables.put("t", pick(TEXTS));
        variables.put("i", random.nextInt(7) - 2);
        variables.put(
                "f", List.of(0.5, -2.0, 1e16, 1e-7, 0.1 + 0.2, 1e300, -0.0).get(random.nextInt(7)));
        variables.put("l", list(2));
        variables.put("d", dict(2));
        List<Object> messages = new ArrayList<>();
        for (int i = random.nextInt(3); i >= 0; i--) {
            messages.add(Map.of("role", pick("user", "assistant"), "content", pick(TEXTS), "a", random.nextInt(3)));
        }
        variables.put("m", messages);
        variables.put("n", null);
        variables.put("b", random.nextBoolean());
        variables.put("big", new BigInteger("98765432109876543210"));
        variables.put("nested", dict(3));
        return variables;
    }

    private @Nullable Object value(int depth) {
        return switch (random.nextInt(depth > 0 ? 8 : 6)) {
            case 0, 1 -> pick(TEXTS);
            case 2 -> random.nextInt(20) - 5;
            case 3 -> random.nextInt(100) / 8.0;
            case 4 -> random.nextBoolean();
            case 5 -> null;
            case 6 -> list(depth - 1);
            default -> dict(depth - 1);
        };
    }

    private List<@Nullable Object> list(int depth) {
        List<@Nullable Object> list = new ArrayList<>();
        boolean sameKind = random.nextBoolean();
        for (int i = random.nextInt(5); i > 0; i--) {
            list.add(sameKind ? pick(TEXTS) : value(depth));
        }
        return list;
    }

    private Map<String, @Nullable Object> dict(int depth) {
        Map<String, @Nullable Object> dict = new LinkedHashMap<>();
        for (int i = random.nextInt(5); i > 0; i--) {
            dict.put(pick(KEYS), value(depth));
        }
        return dict;
    }

    String expression(int depth) {
        return expression(randomType(), depth);
    }

    private String expression(Type wanted, int depth) {
        Type type = random.nextInt(12) == 0 ? Type.ANY : wanted;
        if (depth <= 0) {
            return leaf(type);
        }
        if (random.nextInt(10) == 0) {
            return "(" + expression(type, depth - 1) + " if " + expression(Type.ANY, depth - 1)
                    + (random.nextBoolean() ? " else " + expression(type, depth - 1) : "") + ")";
        }
        return switch (type) {
            case TEXT -> text(depth - 1);
            case NUMBER -> number(depth - 1);
            case LIST -> listExpression(depth - 1);
            case DICT -> dictExpression(depth - 1);
            case ANY -> any(depth - 1);
        };
    }

    private String leaf(Type type) {
        return switch (type) {
            case TEXT -> random.nextBoolean() ? pick("s", "t") : literal(pick(TEXTS));
            case NUMBER -> random.nextInt(3) > 0 ? pick(NUMBERS) : pick("i", "f", "b", "big");
            case LIST -> pick("l", "m", "[]", "[1, 'a', none]", "(1, 2)", "range(3)", "[3, 1, 2]", "('b', 'A', 'c')");
            case DICT -> pick("d", "nested", "m[0]", "{}", "{'a': 1, 'B': 'x', 'c': none}", "{1: 2, 'k': [1.5]}");
            case ANY -> pick(NAMES);
        };
    }

    private static String literal(String text) {
        return "'"
                + text.replace("\\", "\\\\")
                        .replace("'", "\\'")
                        .replace("\n", "\\n")
                        .replace("\r", "\\r") + "'";
    }

    private String text(int depth) {
        return switch (random.nextInt(8)) {
            case 0 -> leaf(Type.TEXT);
            case 1 -> "(" + expression(Type.TEXT, depth) + " + " + expression(Type.TEXT, depth) + ")";
            case 2 -> "(" + expression(Type.ANY, depth) + " ~ " + expression(Type.NUMBER, depth) + ")";
            case 3 -> "(" + expression(Type.TEXT, depth) + " | " + pick(TEXT_FILTERS) + ")";
            case 4 -> expression(Type.TEXT, depth) + "." + pick(TEXT_METHODS);
            case 5 -> expression(Type.TEXT, depth) + slice();
            case 6 ->
                "(" + expression(Type.ANY, depth) + " | " + pick("tojson", "string", "join(',')", "tojson(indent=4)")
                        + ")";
            default -> "(" + expression(Type.TEXT, depth) + " * " + pick("0", "1", "2", "-1", "i") + ")";
        };
    }

    private String slice() {
        String bounds = pick("", "0", "1", "-1", "2", "-3", "9", "i") + ":" + pick("", "0", "1", "-1", "3", "-2", "99");
        return "[" + bounds + (random.nextInt(3) == 0 ? ":" + pick("", "1", "2", "-1", "-2") : "") + "]";
    }

    private String number(int depth) {
        return switch (random.nextInt(8)) {
            case 0 -> leaf(Type.NUMBER);
            case 1, 2 ->
                "(" + expression(Type.NUMBER, depth) + " " + pick(OPERATORS) + " " + expression(Type.NUMBER, depth)
                        + ")";
            case 3 -> "(" + expression(Type.ANY, depth) + " | " + pick(NUMBER_FILTERS) + ")";
            case 4 -> expression(Type.TEXT, depth) + "." + pick(NUMBER_METHODS);
            case 5 -> "(" + pick("-", "+", "- ") + expression(Type.NUMBER, depth) + ")";
            case 6 -> "(" + leaf(Type.NUMBER) + " ** " + pick("0", "1", "2", "3", "-1", "0.5") + ")";
            default -> comparison(depth);
        };
    }

    private String comparison(int depth) {
        Type type = randomType();
        return switch (random.nextInt(4)) {
            case 0 -> "(" + expression(Type.ANY, depth) + pick(" is ", " is not ") + pick(TESTS) + ")";
            case 1 -> "(not " + expression(Type.ANY, depth) + ")";
            case 2 -> "(" + expression(Type.TEXT, depth) + " in " + expression(Type.ANY, depth) + ")";
            default ->
                "(" + expression(type, depth) + " " + pick(COMPARISONS) + " " + expression(type, depth)
                        + (random.nextInt(6) == 0 ? " " + pick(COMPARISONS) + " " + expression(type, depth) : "") + ")";
        };
    }

    private String listExpression(int depth) {
        return switch (random.nextInt(7)) {
            case 0 -> leaf(Type.LIST);
            case 1 -> "[" + expression(Type.ANY, depth) + ", " + expression(Type.ANY, depth) + ",]";
            case 2 -> "(" + expression(Type.LIST, depth) + " | " + pick(LIST_FILTERS) + ")";
            case 3 -> expression(Type.LIST, depth) + slice();
            case 4 -> expression(Type.TEXT, depth) + "." + pick(LIST_METHODS);
            case 5 ->
                expression(Type.DICT, depth) + "." + pick("items()", "keys()", "values()", "items", "get('a', [])");
            default -> "(" + expression(Type.LIST, depth) + " + " + expression(Type.LIST, depth) + ")";
        };
    }

    private String dictExpression(int depth) {
        return switch (random.nextInt(4)) {
            case 0 -> leaf(Type.DICT);
            case 1 ->
                "{'" + pick(KEYS) + "': " + expression(Type.ANY, depth) + ", " + pick("1", "'z'", "none", "2.0") + ": "
                        + expression(Type.ANY, depth) + "}";
            case 2 -> "dict(" + expression(Type.DICT, depth) + ", a=" + expression(Type.ANY, depth) + ")";
            default -> expression(Type.LIST, depth) + "[0]";
        };
    }

    private String any(int depth) {
        return switch (random.nextInt(9)) {
            case 0 -> leaf(Type.ANY);
            case 1 -> "(" + expression(Type.ANY, depth) + " | " + pick(ANY_FILTERS) + ")";
            case 2 ->
                expression(Type.DICT, depth) + "."
                        + pick("a", "items", "get('a')", "get('zz', 7)", "role", "content", "keys");
            case 3 -> expression(Type.DICT, depth) + "['" + pick(KEYS) + "']";
            case 4 -> expression(Type.LIST, depth) + "[" + pick("0", "-1", "1", "5", "i", "'a'") + "]";
            case 5 -> "(" + expression(Type.ANY, depth) + pick(" and ", " or ") + expression(Type.ANY, depth) + ")";
            case 6 -> expression(Type.TEXT, depth) + "[" + pick("0", "-1", "7") + "]";
            case 7 -> expression(Type.NUMBER, depth);
            default -> expression(Type.TEXT, depth);
        };
    }

    /// A whole template with statements and white-space control.
    String template(int depth) {
        StringBuilder template = new StringBuilder();
        for (int i = random.nextInt(4) + 1; i > 0; i--) {
            template.append(piece(depth));
        }
        return template.toString();
    }

    private String open() {
        return pick("{%", "{%", "{%-", "{%+", "  {%", "\n  {%", "{%-");
    }

    private String close() {
        return pick("%}", "%}", "-%}", "%}\n", "+%}\n", "%}  ", "-%}\n");
    }

    private String tag(String content) {
        return open() + " " + content + " " + close();
    }

    private String piece(int depth) {
        int kind = depth <= 0 ? random.nextInt(4) : random.nextInt(12);
        return switch (kind) {
            case 0 -> pick("text", " x \n", "\n\n", "  ", "a\n  b", "<|user|>", "\t\n");
            case 1, 2 -> pick("{{", "{{-", "{{ ") + " " + expression(2) + " " + pick("}}", "-}}", "}}\n", "-}}\n ");
            case 3 -> pick("{#", "{#-", " {#") + " c {{ x }} " + pick("#}", "-#}", "#}\n", "#}  ");
            case 4, 5 ->
                tag("if " + expression(2))
                        + template(depth - 1)
                        + (random.nextBoolean() ? tag("elif " + expression(1)) + template(depth - 1) : "")
                        + (random.nextBoolean() ? tag("else") + template(depth - 1) : "")
                        + tag("endif");
            case 6, 7 -> loop(depth);
            case 8 -> tag("set v = " + expression(2)) + "{{ v }}";
            case 9 ->
                tag("set ns = namespace(k=" + expression(1) + ")") + tag("for q in l") + tag("set ns.k = q")
                        + tag("endfor") + "{{ ns.k }}";
            case 10 ->
                tag("macro mac(p, q=" + expression(1) + ")") + template(depth - 1) + "{{ p }}{{ q }}" + tag("endmacro")
                        + "{{ mac(" + pick("", "1", "s, t", "q=s", "p=1, q=2") + ") }}";
            default -> tag("set w") + template(depth - 1) + tag("endset") + "{{ w | length }}{{ w }}";
        };
    }

    private String loop(int depth) {
        String head = pick(
                "for v in " + expression(Type.LIST, 1),
                "for v in l",
                "for v in m if v.role == 'user'",
                "for k, v in d.items()",
                "for v in s",
                "for k, v in nested | dictsort",
                "for v in l if v");
        String body = pick(
                "{{ loop.index0 }}{{ loop.last }}",
                "{{ v }}",
                "{% if loop.first %}F{% endif %}",
                "{{ loop.previtem }}|{{ loop.nextitem is defined }}",
                "{% if loop.index > 1 %}{% break %}{% endif %}",
                "{% if loop.index0 == 0 %}{% continue %}{% endif %}",
                "{% set v = 'in' %}",
                "{{ loop.length }}{{ loop.revindex }}{{ loop.cycle('a', 'b') }}");
        return tag(head) + body + template(depth - 1) + "{{ v }}"
                + (random.nextInt(3) == 0 ? tag("else") + template(depth - 1) : "") + tag("endfor");
    }
}
