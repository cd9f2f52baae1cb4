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
    /// What Prometheus' format puts behind the name of a counter, timer or summary.
    private static final String ENDINGS = "_(total|count|sum|bucket|max)$";

    private static final Pattern NAME = Pattern.compile("`([a-z0-9_:]+)`");

    private final SeparateSuite processes;

    OperationsMetricsIT(SeparateSuite processes) {
        this.processes = processes;
    }

    /// A name of the table, and a service that has it.
    private record Series(String name, String service) {}

    /// Of those that are always there.
    private static List<Series> table() throws IOException {
        String page = page();
        return rows(page.substring(0, page.indexOf("Some are there only then:")));
    }

    private static String page() throws IOException {
        String page = Files.readString(ServiceProcess.root().resolve("docs/operations.md"));
        return page.substring(page.indexOf("## Metrics"), page.indexOf("## Log"));
    }

    private static List<Series> rows(String table) {
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
            Map<String, Scrape> shown = scrapes();
            assertThat(table)
                    .allSatisfy(series -> assertThat(isShown(
                                    series.name(),
                                    Objects.requireNonNull(shown.get(series.service()), series.service())))
                            .as(series.toString())
                            .isTrue());
        });
    }

    private Map<String, Scrape> scrapes() {
        return Map.of(
                "gateway", processes.gateway().metrics(),
                "prefill", processes.prefill().metrics(),
                "decode", processes.decode().metrics(),
                "cache", processes.kvCache().metrics());
    }

    /// What a service shows of ours has a row that names this service.
    @Test
    void everySeriesOfARunningSuiteIsInATable() throws IOException {
        processes.makeWhole();
        processes.rest().ask(Question.chat("series", Question.longText(6), "\"max_tokens\":8"));
        List<Series> told = rows(page());

        scrapes()
                .forEach((service, shown) -> assertThat(shown.names())
                        .filteredOn(name -> name.startsWith("vllm:") || name.startsWith("millrace_"))
                        .isNotEmpty()
                        .allSatisfy(name -> assertThat(told)
                                .as("%s of %s", name, service)
                                .contains(new Series(name.replaceFirst(ENDINGS, ""), service))));
    }

    private static boolean isShown(String name, Scrape scrape) {
        return Stream.of("", "_total", "_count").anyMatch(end -> scrape.has(name + end));
    }
}
