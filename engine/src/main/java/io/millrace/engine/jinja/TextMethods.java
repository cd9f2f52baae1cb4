package io.millrace.engine.jinja;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.function.IntPredicate;

/// The methods of Python's `str`.
final class TextMethods {
    private static final Set<String> PRESENT = Set.of(
            "upper",
            "lower",
            "capitalize",
            "title",
            "swapcase",
            "casefold",
            "strip",
            "lstrip",
            "rstrip",
            "split",
            "rsplit",
            "splitlines",
            "join",
            "replace",
            "startswith",
            "endswith",
            "find",
            "rfind",
            "index",
            "rindex",
            "count",
            "partition",
            "rpartition",
            "removeprefix",
            "removesuffix",
            "zfill",
            "ljust",
            "rjust",
            "center",
            "isdigit",
            "isdecimal",
            "isalpha",
            "isalnum",
            "isspace",
            "islower",
            "isupper",
            "format");
    private static final Set<String> ABSENT = Set.of(
            "encode",
            "expandtabs",
            "format_map",
            "isascii",
            "isidentifier",
            "isnumeric",
            "isprintable",
            "istitle",
            "maketrans",
            "translate");

    private final Budget budget;

    TextMethods(Budget budget) {
        this.budget = budget;
    }

    /// The method of this name, empty if `str` has none.
    Optional<Value> find(Text text, String name) {
        if (ABSENT.contains(name)) {
            throw JinjaException.unsupported("the method str." + name);
        }
        if (!PRESENT.contains(name)) {
            return Optional.empty();
        }
        return Optional.of(Value.Function.of(name, arguments -> call(text, name, arguments)));
    }

    private Value call(Text text, String name, Arguments arguments) {
        return switch (name) {
            case "strip", "lstrip", "rstrip", "split", "rsplit", "splitlines", "partition", "rpartition" ->
                cut(text, name, arguments);
            case "startswith", "endswith", "find", "rfind", "index", "rindex", "count" -> search(text, name, arguments);
            case "isdigit", "isdecimal", "isalpha", "isalnum", "isspace", "islower", "isupper" -> {
                arguments.bindPositional(name);
                yield Value.Bool.of(is(text, name));
            }
            case "join", "replace", "removeprefix", "removesuffix", "format" -> combine(text, name, arguments);
            case "zfill", "ljust", "rjust", "center" -> pad(text, name, arguments);
            default -> {
                arguments.bindPositional(name);
                yield changeCase(text, name);
            }
        };
    }

    private Value changeCase(Text text, String name) {
        return switch (name) {
            case "upper" -> Texts.upper(text, budget);
            case "capitalize" -> Texts.capitalize(text, budget);
            case "title" -> title(text);
            case "swapcase" -> Texts.convert(text, TextMethods::swapCase, budget);
            case "casefold" -> Texts.caseFold(text, budget);
            default -> Texts.lower(text, budget);
        };
    }

    private static String swapCase(String string) {
        // Small letters come from the whole text: the last sigma of a word has a form of its own.
        String lower = string.toLowerCase(Locale.ROOT);
        StringBuilder swapped = new StringBuilder();
        for (int i = 0; i < string.length(); ) {
            int codePoint = string.codePointAt(i);
            int next = i + Character.charCount(codePoint);
            String letter = string.substring(i, next);
            if (!Character.isUpperCase(codePoint)) {
                swapped.append(letter.toUpperCase(Locale.ROOT));
            } else if (lower.length() == string.length()) {
                swapped.append(lower, i, next);
            } else {
                swapped.append(letter.toLowerCase(Locale.ROOT));
            }
            i = next;
        }
        return swapped.toString();
    }

    private Text title(Text text) {
        TextBuilder builder = new TextBuilder(budget);
        boolean inWord = false;
        for (Value value : text.characters()) {
            Text letter = (Text) value;
            int codePoint = letter.string().codePointAt(0);
            builder.append(inWord ? Texts.lower(letter, budget) : Texts.convert(letter, Texts::titleCase, budget));
            inWord = isCased(codePoint);
        }
        return builder.toText().withSafe(text.isSafe());
    }

    private static boolean isCased(int codePoint) {
        return Character.isUpperCase(codePoint) || Character.isLowerCase(codePoint) || Character.isTitleCase(codePoint);
    }

    private Value cut(Text text, String name, Arguments arguments) {
        return switch (name) {
            case "strip" -> Texts.strip(text, chars(name, arguments), Texts.Side.BOTH);
            case "lstrip" -> Texts.strip(text, chars(name, arguments), Texts.Side.LEFT);
            case "rstrip" -> Texts.strip(text, chars(name, arguments), Texts.Side.RIGHT);
            case "split", "rsplit" -> {
                Arguments.Bound bound = arguments.bind(name, "sep", "maxsplit");
                Optional<Text> separator = bound.optionalText("sep");
                int limit = bound.integer("maxsplit", -1);
                yield new Value.ListOf(
                        name.equals("split")
                                ? Texts.split(text, separator, limit, budget)
                                : Texts.splitFromRight(text, separator, limit, budget));
            }
            case "splitlines" ->
                new Value.ListOf(
                        Texts.lines(text, arguments.bind(name, "keepends").flag("keepends"), budget));
            default -> partition(text, arguments.bindPositional(name, "sep").text("sep"), name.equals("rpartition"));
        };
    }

    private static Optional<Text> chars(String name, Arguments arguments) {
        return arguments.bindPositional(name, "chars").optionalText("chars");
    }

    private static Value partition(Text text, Text separator, boolean fromRight) {
        if (separator.isEmpty()) {
            throw JinjaException.runtime("empty separator");
        }
        String string = text.string();
        int found = fromRight ? string.lastIndexOf(separator.string()) : string.indexOf(separator.string());
        if (found < 0) {
            Text empty = Text.EMPTY.withSafe(text.isSafe());
            return fromRight ? Value.TupleOf.of(empty, empty, text) : Value.TupleOf.of(text, empty, empty);
        }
        return Value.TupleOf.of(
                text.part(0, found),
                text.isSafe() ? separator.withSafe(true) : separator,
                text.part(found + separator.string().length(), string.length()));
    }

    private Value search(Text text, String name, Arguments arguments) {
        Arguments.Bound bound = arguments.bindPositional(name, "what", "start", "end");
        Slices.Slice slice = new Slices.Slice(
                bound.get("start").orElse(Value.None.NONE), bound.get("end").orElse(Value.None.NONE), Value.None.NONE);
        if (!slice.isValid()) {
            throw JinjaException.runtime("slice indices must be integers or None");
        }
        Slices.Bounds bounds = Slices.bounds(slice, text.length());
        Text searched = text.slice(bounds, budget);
        boolean beyond = bound.get("start").isPresent()
                && bound.required("start") != Value.None.NONE
                && Slices.clamp(bound.required("start")) > text.length();
        if (name.endsWith("with")) {
            return Value.Bool.of(
                    !beyond && affix(searched.string(), bound.required("what"), name.equals("startswith")));
        }
        String what = bound.text("what").string();
        String string = searched.string();
        if (name.equals("count")) {
            return Value.Int.of(beyond ? 0 : count(string, what));
        }
        int found = name.startsWith("r") ? string.lastIndexOf(what) : string.indexOf(what);
        if (found >= 0 && !beyond) {
            int skipped = bounds.count() == 0 ? emptyStart(slice, text.length()) : bounds.start();
            return Value.Int.of(skipped + string.codePointCount(0, found));
        }
        if (name.endsWith("index")) {
            throw JinjaException.runtime("substring not found");
        }
        return Value.Int.of(-1);
    }

    /// Where an empty slice lies: an empty text is found there.
    private static int emptyStart(Slices.Slice slice, int length) {
        if (slice.start() == Value.None.NONE) {
            return 0;
        }
        int start = Slices.clamp(slice.start());
        return start < 0 ? Math.max(0, start + length) : Math.min(start, length);
    }

    private static boolean affix(String string, Value what, boolean start) {
        if (what instanceof Value.TupleOf(List<Value> choices)) {
            for (Value choice : choices) {
                if (affix(string, choice, start)) {
                    return true;
                }
            }
            return false;
        }
        if (!(what instanceof Text text)) {
            throw JinjaException.runtime((start ? "startswith" : "endswith")
                    + " first arg must be str or a tuple of str, not " + Python.typeName(what));
        }
        return start ? string.startsWith(text.string()) : string.endsWith(text.string());
    }

    private static long count(String string, String what) {
        if (what.isEmpty()) {
            return string.codePointCount(0, string.length()) + 1L;
        }
        long count = 0;
        for (int i = string.indexOf(what); i >= 0; i = string.indexOf(what, i + what.length())) {
            count++;
        }
        return count;
    }

    private Value combine(Text text, String name, Arguments arguments) {
        return switch (name) {
            case "join" -> join(text, arguments.bindPositional(name, "items").required("items"));
            case "replace" -> {
                Arguments.Bound bound = arguments.bindPositional(name, "old", "new", "count");
                Text replacement = bound.text("new");
                yield Texts.replace(
                        text,
                        bound.text("old"),
                        text.isSafe() ? Texts.escape(replacement, budget) : replacement,
                        bound.integer("count", -1),
                        budget);
            }
            case "removeprefix" -> {
                String prefix =
                        arguments.bindPositional(name, "prefix").text("prefix").string();
                yield text.string().startsWith(prefix)
                        ? text.part(prefix.length(), text.string().length())
                        : text;
            }
            case "removesuffix" -> {
                String suffix =
                        arguments.bindPositional(name, "suffix").text("suffix").string();
                yield text.string().endsWith(suffix)
                        ? text.part(0, text.string().length() - suffix.length())
                        : text;
            }
            default -> new Formatting(budget).format(text, arguments);
        };
    }

    private Value join(Text separator, Value items) {
        List<Text> parts = new ArrayList<>();
        Iterator<Value> iterator = Python.iterate(items);
        while (iterator.hasNext()) {
            Value item = iterator.next();
            if (!(item instanceof Text part)) {
                throw JinjaException.runtime("sequence item " + parts.size() + ": expected str instance, "
                        + Python.typeName(item) + " found");
            }
            parts.add(separator.isSafe() ? Texts.escape(part, budget) : part);
        }
        return Texts.join(separator, parts, budget).withSafe(separator.isSafe());
    }

    private Value pad(Text text, String name, Arguments arguments) {
        boolean zeros = name.equals("zfill");
        Arguments.Bound bound =
                zeros ? arguments.bindPositional(name, "width") : arguments.bindPositional(name, "width", "fillchar");
        bound.required("width");
        Text fill = zeros ? Text.of("0") : bound.optionalText("fillchar").orElse(Text.of(" "));
        if (fill.length() != 1) {
            throw JinjaException.runtime("The fill character must be exactly one character long");
        }
        int width = bound.integer("width", 0);
        int missing = Math.max(0, width - text.length());
        int left = switch (name) {
            case "ljust" -> 0;
            case "center" -> missing / 2 + (missing & width & 1);
            default -> missing;
        };
        int sign = zeros && (text.string().startsWith("-") || text.string().startsWith("+")) ? 1 : 0;
        return new TextBuilder(budget)
                .append(text, 0, sign)
                .append(Texts.repeat(fill, left, budget))
                .append(text, sign, text.string().length())
                .append(Texts.repeat(fill, missing - left, budget))
                .toText()
                .withSafe(text.isSafe());
    }

    static boolean is(Text text, String name) {
        String string = text.string();
        return switch (name) {
            case "islower" ->
                string.codePoints().anyMatch(Character::isLowerCase)
                        && string.codePoints().noneMatch(c -> Character.isUpperCase(c) || Character.isTitleCase(c));
            case "isupper" ->
                string.codePoints().anyMatch(Character::isUpperCase)
                        && string.codePoints().noneMatch(c -> Character.isLowerCase(c) || Character.isTitleCase(c));
            case "isdecimal" -> all(string, Character::isDigit);
            case "isdigit" -> all(string, TextMethods::isDigit);
            case "isalpha" -> all(string, Character::isLetter);
            case "isalnum" ->
                all(string, c -> Character.isLetter(c) || isDigit(c) || Character.getType(c) == Character.OTHER_NUMBER);
            default -> all(string, Whitespace::is);
        };
    }

    private static boolean isDigit(int c) {
        return Character.isDigit(c) || c == 0xb2 || c == 0xb3 || c == 0xb9 || (c >= 0x2070 && c <= 0x2089);
    }

    private static boolean all(String string, IntPredicate test) {
        return !string.isEmpty() && string.codePoints().allMatch(test);
    }
}
