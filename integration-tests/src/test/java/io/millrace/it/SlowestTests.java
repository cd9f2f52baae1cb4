package io.millrace.it;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/// Prints the ten slowest tests of all modules from the reports of the build that just ran.
public final class SlowestTests {
    private static final Pattern TEST_CASE =
            Pattern.compile("<testcase name=\"([^\"]*)\" classname=\"([^\"]*)\" time=\"([0-9.,]+)\"");
    private static final int SHOWN = 10;

    private record TestTime(String name, double seconds) {}

    private SlowestTests() {}

    /// Reads the reports below a folder and prints.
    ///
    /// @param arguments the root folder of the build
    public static void main(String[] arguments) throws IOException {
        List<TestTime> times = new ArrayList<>();
        try (Stream<Path> files = Files.walk(Path.of(arguments[0]))) {
            for (Path report : files.filter(SlowestTests::isReport).toList()) {
                read(report, times);
            }
        }
        times.sort(Comparator.comparingDouble(TestTime::seconds).reversed());
        System.out.println("Slowest tests of " + times.size() + ":");
        for (TestTime time : times.subList(0, Math.min(SHOWN, times.size()))) {
            System.out.printf(Locale.ROOT, "%8.2f s  %s%n", time.seconds(), time.name());
        }
    }

    private static boolean isReport(Path file) {
        String path = file.toString().replace('\\', '/');
        return path.endsWith(".xml")
                && (path.contains("/target/surefire-reports/TEST-") || path.contains("/target/failsafe-reports/TEST-"));
    }

    private static void read(Path report, List<TestTime> times) throws IOException {
        Matcher matcher = TEST_CASE.matcher(Files.readString(report));
        while (matcher.find()) {
            String seconds = matcher.group(3).replace(",", "");
            times.add(new TestTime(matcher.group(2) + "." + matcher.group(1), Double.parseDouble(seconds)));
        }
    }
}
