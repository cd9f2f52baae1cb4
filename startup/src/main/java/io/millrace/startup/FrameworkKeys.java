package io.millrace.startup;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/// The keys of the libraries on the class path, as the metadata tells that they bring along for editors. It is read
/// by its few marks: a whole parser would take longer than the rest of the check.
final class FrameworkKeys {
    private static final String METADATA = "META-INF/spring-configuration-metadata.json";
    private static final String PROPERTIES = "\"properties\": [";
    private static final String HINTS = "\"hints\": [";
    private static final String NAME = "\"name\": \"";
    private static final String TYPE = "\"type\": \"";
    /// What takes names or numbers of any kind below itself.
    private static final List<String> OPEN = List.of("Map", "Properties", "List", "Set", "Collection", "[]");
    /// They are read, but no metadata tells of them.
    private static final List<String> UNTOLD = List.of("debug", "trace");

    private static final String OWN_ENDPOINT = "management.endpoint.millrace";

    private final Map<String, String> byLetters = new TreeMap<>();
    private final Set<String> open = new HashSet<>();

    private FrameworkKeys() {
        UNTOLD.forEach(name -> add(name, false));
        add(OWN_ENDPOINT, true);
    }

    static FrameworkKeys read(ClassLoader classes) {
        FrameworkKeys known = new FrameworkKeys();
        try {
            for (URL file : Collections.list(classes.getResources(METADATA))) {
                try (InputStream in = file.openStream()) {
                    known.addAll(new String(in.readAllBytes(), StandardCharsets.UTF_8));
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return known;
    }

    /// Groups, which come before the properties, and hints, which come after them, have names that are no keys.
    private void addAll(String metadata) {
        int begin = Math.max(0, metadata.indexOf(PROPERTIES));
        int hints = metadata.indexOf(HINTS, begin);
        int end = hints < 0 ? metadata.length() : hints;
        int name = metadata.indexOf(NAME, begin);
        while (name >= 0 && name < end) {
            int next = metadata.indexOf(NAME, name + NAME.length());
            int type = metadata.indexOf(TYPE, name);
            boolean isTyped = type >= 0 && (next < 0 || type < next);
            add(quoted(metadata, name + NAME.length()), isTyped && isOpen(quoted(metadata, type + TYPE.length())));
            name = next;
        }
    }

    private static String quoted(String text, int begin) {
        return text.substring(begin, text.indexOf('"', begin));
    }

    private static boolean isOpen(String type) {
        int parameters = type.indexOf('<');
        String bare = parameters < 0 ? type : type.substring(0, parameters);
        return OPEN.stream().anyMatch(bare::endsWith);
    }

    private void add(String name, boolean isOpen) {
        String letters = KeyNames.letters(name);
        byLetters.put(letters, name);
        if (isOpen) {
            open.add(letters);
        }
    }

    /// Whether it is one of them, an element of one, or below one that takes any names.
    boolean contains(String written) {
        String letters = KeyNames.letters(written);
        if (byLetters.containsKey(letters)) {
            return true;
        }
        for (int end = letters.length(); end > 0; end = lastMark(letters, end)) {
            if (open.contains(letters.substring(0, end))) {
                return true;
            }
        }
        return false;
    }

    private static int lastMark(String letters, int end) {
        return Math.max(letters.lastIndexOf('.', end - 1), letters.lastIndexOf('[', end - 1));
    }

    List<String> names() {
        return List.copyOf(byLetters.values());
    }
}
