package io.millrace.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.it.process.Scrape;
import io.millrace.it.process.SeparateSuite;
import io.millrace.it.process.ServiceProcess;
import io.millrace.it.rest.Question;
import java.io.IOException;
import java.nio.file.Files;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/// What the page for operators says is measured is there, in the service that it names.
@ExtendWith(RunningSuites.class)
class OperationsMetricsIT {
    private static final Pattern ROW = Pattern.compile("(?m)^\\| (`(?:vllm:|millrace_)[^|]*) \\| ([a-z, ]+) \\|");
    private static final Pattern NAME = Pattern.compile("`([a-z0-9_:]+)`");

    private final SeparateSuite processes;

    OperationsMetricsIT(SeparateSuite processes) {
        this.processes = processes;
    }

    /// A name of the table, and a service that has it.
    private record Series(String name, String service) {}

    private static List<Series> table() throws IOException {
        String page = Files.readString(ServiceProcess.root().resolve("docs/operations.md"));
        String table = page.substring(page.indexOf("## Metrics"), page.indexOf("Some are there only then:"));
        List<Series> series = new ArrayList<>();
        for (Matcher row = ROW.matcher(table); row.find(); ) {
            for (Matcher name = NAME.matcher(row.group(1)); name.find(); ) {
                for (String service : row.group(2).split(", ", -1)) {
                    series.add(new Series(name.group(1), service));
                }
            }
        }
        return series;
    }

    @Test
    void everySeriesOfTheTableIsInARunningSuite() throws IOException {
        processes.makeWhole();
        processes.rest().ask(Question.chat("series", Question.longText(6), "\"max_tokens\":8"));
        List<Series> table = table();
        assertThat(table).hasSizeGreaterThan(50);

        Awaitility.await().atMost(Duration.ofSeconds(10)).untilAsserted(() -> {
            Map<String, Scrape> shown = Map.of(
                    "gateway", processes.gateway().metrics(),
                    "prefill", processes.prefill().metrics(),
                    "decode", processes.decode().metrics(),
                    "cache", processes.kvCache().metrics());
            assertThat(table)
                    .allSatisfy(series -> assertThat(isShown(
                                    series.name(),
                                    Objects.requireNonNull(shown.get(series.service()), series.service())))
                            .as(series.toString())
                            .isTrue());
        });
    }

    private static boolean isShown(String name, Scrape scrape) {
        return Stream.of("", "_total", "_count").anyMatch(end -> scrape.has(name + end));
    }
}
