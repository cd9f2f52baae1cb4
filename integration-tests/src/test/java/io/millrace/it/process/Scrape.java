package io.millrace.it.process;

import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;

/// The text of a Prometheus endpoint.
public record Scrape(String text) {
    static Scrape of(String text) {
        return new Scrape(text);
    }

    /// Sum over all samples of this name, 0 if there is none yet.
    ///
    /// @param name  as Prometheus shows it, `_total` included
    public double sum(String name) {
        double sum = 0;
        for (String line : text.split("\n", -1)) {
            if (line.startsWith(name) && (line.charAt(name.length()) == ' ' || line.charAt(name.length()) == '{')) {
                sum += Double.parseDouble(line.substring(line.lastIndexOf(' ') + 1));
            }
        }
        return sum;
    }

    /// Names of all samples, with their endings.
    public Set<String> names() {
        return text.lines()
                .filter(line -> !line.isBlank() && !line.startsWith("#"))
                .map(line -> line.split("[ {]", 2)[0])
                .collect(Collectors.toCollection(TreeSet::new));
    }

    /// Whether a sample of this name is shown.
    public boolean has(String name) {
        return text.lines().anyMatch(line -> line.startsWith(name + " ") || line.startsWith(name + "{"));
    }
}
