package io.millrace.standalone.keys;

import io.millrace.startup.KeyNames;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;

/// Reads keys from where they may be given, in the order of precedence of the services: options and
/// arguments of the command line, system properties, environment variables. An option beside an argument
/// of the same key is refused. So is what nobody would notice: a key that no service has, and one that the
/// suite sets itself.
public final class KeySources {
    /// What an argument begins with that is a key.
    public static final String ARGUMENT = "--" + SuiteKeys.PREFIX;

    private static final String PROPERTY = "-D";

    private final KeyNames known = SuiteKeys.names();
    private final Map<String, GivenKey> given = new TreeMap<>();
    private final List<String> unused = new ArrayList<>();

    /// Variables that look like settings and are none; a platform sets such ones by itself, for its own
    /// services of that name. They have no effect.
    public List<String> unused() {
        return List.copyOf(unused);
    }

    /// Properties and variables that are keys of a service: a command that starts none does not read them.
    ///
    /// @return how each is written where it is set
    public static List<String> names(Map<String, String> properties, Map<String, String> environment) {
        KeyNames known = SuiteKeys.names();
        List<String> names = new ArrayList<>();
        for (String name : new TreeMap<>(properties).keySet()) {
            if (name.startsWith(SuiteKeys.PREFIX) && known.named(name).isPresent()) {
                names.add(PROPERTY + name);
            }
        }
        for (String name : new TreeMap<>(environment).keySet()) {
            if (KeyNames.isVariable(name) && known.ofVariable(name).isPresent()) {
                names.add(name);
            }
        }
        return names;
    }

    /// @param options      by key
    /// @param arguments    that begin with [#ARGUMENT]
    /// @param properties   system properties
    /// @param environment  variables
    /// @throws IllegalArgumentException  if one of them is unknown, given twice, or the suite's own
    public GivenKeys read(
            Map<String, GivenKey> options,
            List<String> arguments,
            Map<String, String> properties,
            Map<String, String> environment) {
        new TreeMap<>(environment).forEach(this::readVariable);
        new TreeMap<>(properties).forEach(this::readProperty);
        readArguments(options, arguments);
        given.putAll(options);
        return new GivenKeys(given);
    }

    private void readVariable(String name, String value) {
        if (!KeyNames.isVariable(name)) {
            return;
        }
        Optional<String> key = known.ofVariable(name);
        if (key.isPresent()) {
            put(key.get(), value, name);
            return;
        }
        Optional<String> near = KeyNames.isServiceLink(name, value) ? Optional.empty() : known.nearestVariable(name);
        if (near.isPresent()) {
            throw unknown(name, near);
        }
        unused.add(name);
    }

    private void readProperty(String name, String value) {
        if (KeyNames.isProperty(name)) {
            String source = PROPERTY + name;
            put(known.named(name).orElseThrow(() -> unknown(source, nearest(PROPERTY, name))), value, source);
        }
    }

    private void readArguments(Map<String, GivenKey> options, List<String> arguments) {
        Set<String> read = new HashSet<>();
        for (String argument : arguments) {
            int end = argument.indexOf('=');
            String source = end < 0 ? argument : argument.substring(0, end);
            String name = source.substring(2);
            String key = known.named(name).orElseThrow(() -> unknown(source, nearest("--", name)));
            if (end < 0) {
                throw new IllegalArgumentException(source + ": without a value (expected: " + source + "=VALUE)");
            }
            if (!read.add(key)) {
                throw new IllegalArgumentException(source + ": given twice (expected: once)");
            }
            GivenKey option = options.get(key);
            if (option != null) {
                throw new IllegalArgumentException(
                        option.source() + " beside " + source + " (expected: one of them, they set the same)");
            }
            put(key, argument.substring(end + 1), source);
        }
    }

    private void put(String key, String value, String source) {
        if (SuiteKeys.isInner(key)) {
            throw new IllegalArgumentException(source + ": " + value
                    + " (expected: not set; the services of this process find each other by themselves)");
        }
        given.put(key, new GivenKey(value, source));
    }

    private Optional<String> nearest(String before, String name) {
        return known.nearest(name).map(key -> before + key);
    }

    private static IllegalArgumentException unknown(String source, Optional<String> near) {
        return new IllegalArgumentException(source + ": unknown (expected: a key of a service"
                + near.map(name -> "; nearest is " + name).orElse("") + ")");
    }
}
