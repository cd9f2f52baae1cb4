package io.millrace.standalone.command;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.engine.model.LoadProgress;
import io.millrace.engine.settings.EngineSettings;
import io.millrace.engine.settings.KvSettings;
import io.millrace.standalone.client.MillraceClient;
import io.millrace.standalone.client.Receipt;
import io.millrace.standalone.client.Reply;
import io.millrace.standalone.client.ReplyListener;
import io.millrace.standalone.suite.Suite;
import io.millrace.standalone.suite.SuiteSettings;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/// A warm-up leaves no trace in what a user is told.
class WarmUpIT {
    private static final Path MINI = Path.of(System.getProperty("millrace.root", ".."), "models", "mini");
    private static final int BLOCK = 64;

    @Test
    void warmsWithinItsLimitsAndNobodysFirstPromptIsCached() throws IOException {
        try (Suite suite = new Suite(SuiteSettings.of(MINI))) {
            suite.start(LoadProgress.SILENT);
            try (MillraceClient client = new MillraceClient(suite.url())) {
                // No time: the short chat alone.
                assertThat(new WarmUp(client, Duration.ZERO, new SplittableRandom(1)).run())
                        .singleElement()
                        .satisfies(receipt -> assertThat(receipt.promptTokens() + receipt.completionTokens())
                                .isLessThan(BLOCK));
                // Two starts in a row: not even the second is served from the cache.
                for (int seed = 2; seed < 4; seed++) {
                    List<Receipt> receipts =
                            new WarmUp(client, Duration.ofMinutes(1), new SplittableRandom(seed)).run();
                    assertThat(receipts)
                            .hasSizeGreaterThan(2)
                            .allSatisfy(receipt ->
                                    assertThat(receipt.cachedTokens()).isZero());
                    assertThat(receipts.getLast().promptTokens()).isBetween(80, 140);
                }
                assertThat(chat(client, "Hi").cachedTokens()).isZero();
                assertThat(chat(client, "int a = 1;".repeat(40)).cachedTokens()).isZero();
                assertThat(complete(client, "int a = 1; ".repeat(40)).cachedTokens())
                        .isZero();
                assertThat(complete(client, "int a = 1; ".repeat(40)).cachedTokens())
                        .isGreaterThanOrEqualTo(BLOCK);
            }
        }
    }

    @Test
    void asksNothingThatThePoolCannotHold() throws IOException {
        EngineSettings defaults = EngineSettings.defaults();
        EngineSettings onePage =
                new EngineSettings(defaults.kernels(), defaults.dsa(), new KvSettings(null, BLOCK), defaults.weights());
        try (Suite suite = new Suite(SuiteSettings.of(MINI).with(onePage))) {
            suite.start(LoadProgress.SILENT);
            try (MillraceClient client = new MillraceClient(suite.url())) {
                List<Receipt> receipts = new WarmUp(client, Duration.ofMinutes(1), new SplittableRandom(5)).run();
                assertThat(receipts)
                        .hasSizeGreaterThan(2)
                        .allSatisfy(receipt -> assertThat(receipt.promptTokens() + receipt.completionTokens())
                                .isLessThanOrEqualTo(BLOCK));
            }
        }
    }

    private static Receipt chat(MillraceClient client, String content) throws IOException {
        Map<String, @Nullable Object> body = new LinkedHashMap<>();
        body.put("messages", List.of(Map.of("role", "user", "content", content)));
        body.put("max_tokens", 4);
        Reply reply = client.chat(body, ReplyListener.NONE);
        return reply.receipt();
    }

    private static Receipt complete(MillraceClient client, String prompt) throws IOException {
        Map<String, @Nullable Object> body = new LinkedHashMap<>();
        body.put("prompt", prompt);
        body.put("max_tokens", 4);
        return client.complete(body, ReplyListener.NONE).receipt();
    }
}
