package io.millrace.it.process;

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

    /// Whether a sample of this name is shown.
    public boolean has(String name) {
        return text.lines().anyMatch(line -> line.startsWith(name + " ") || line.startsWith(name + "{"));
    }
}
