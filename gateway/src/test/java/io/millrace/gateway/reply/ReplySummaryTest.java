package io.millrace.gateway.reply;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.gateway.generation.ChoiceReceipt;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;

class ReplySummaryTest {
    @Test
    void everyFieldOfTheTimingsIsDefinedInTheReadme() throws IOException {
        String readme = Files.readString(Path.of(System.getProperty("millrace.root", ".."), "README.md"));
        ChoiceReceipt receipt = new ChoiceReceipt(
                1,
                0,
                new ChoiceReceipt.Millis(1, 2, 3, 4, 5, 6),
                new ChoiceReceipt.Services("prefill", true, "decode", 0),
                1);
        assertThat(new ReplySummary(List.of(1), List.of(receipt), false).timings())
                .allSatisfy((name, value) -> assertThat(readme).contains("| `" + name + "` | "));
    }
}
