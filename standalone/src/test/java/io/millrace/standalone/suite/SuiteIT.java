package io.millrace.standalone.suite;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.millrace.engine.error.MillraceException;
import io.millrace.engine.model.LoadProgress;
import io.millrace.engine.settings.EngineSettings;
import io.millrace.engine.settings.WeightsSettings;
import io.millrace.standalone.client.MillraceClient;
import io.millrace.standalone.client.Receipt;
import io.millrace.standalone.client.Reply;
import io.millrace.standalone.client.ReplyListener;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;

/// One suite with the embedded model answers all questions of this class.
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class SuiteIT {
    private static final Path MINI = Path.of(System.getProperty("millrace.root", ".."), "models", "mini");

    private final Suite suite = new Suite(SuiteSettings.of(MINI));
    private @Nullable MillraceClient opened;

    @BeforeAll
    void start() {
        suite.start(LoadProgress.SILENT);
        opened = new MillraceClient(suite.url());
    }

    @AfterAll
    void close() {
        if (opened != null) {
            opened.close();
        }
        suite.close();
        suite.awaitClosed();
    }

    @Test
    void aStreamedChatAnswersTheSumAndHasAReceipt() throws IOException {
        StringBuilder heard = new StringBuilder();
        Reply reply = client().chat(sum(), new ReplyListener() {
            @Override
            public void onReasoning(String text) {}

            @Override
            public void onText(String text) {
                heard.append(text);
            }
        });
        assertThat(reply.text()).contains("95").isEqualTo(heard.toString());
        assertThat(reply.finishReason()).isEqualTo("stop");
        Receipt receipt = reply.receipt();
        assertThat(receipt.services()).startsWith("gateway", "prefill").endsWith("decode");
        assertThat(receipt.promptTokens()).isPositive();
        assertThat(receipt.completionTokens()).isGreaterThan(1);
        assertThat(receipt.firstTokenMillis()).isPositive();
        assertThat(receipt.tokensPerSecond()).isPositive();
    }

    @Test
    void aWholeChatAnswersTheSame() throws IOException {
        JsonNode whole = client().post("/v1/chat/completions", sum());
        Reply streamed = client().chat(sum(), ReplyListener.NONE);
        assertThat(whole.path("choices").path(0).path("message").path("content").asString())
                .contains("95")
                .isEqualTo(streamed.text());
    }

    @Test
    void inferenceWritesQuickSort() throws IOException {
        Map<String, @Nullable Object> body = new LinkedHashMap<>();
        body.put("prompt", "实现快速排序");
        body.put("max_tokens", 64);
        body.put("temperature", 0);
        body.put("enable_mtp", true);
        Reply reply = client().infer(body, ReplyListener.NONE);
        assertThat(reply.text()).contains("quickSort");
        assertThat(reply.receipt().completionTokens()).isEqualTo(64);
    }

    @Test
    void aLongPromptIsCachedForTheNextAsking() throws IOException {
        Map<String, @Nullable Object> body = new LinkedHashMap<>();
        body.put("prompt", "int a = 1; ".repeat(60));
        body.put("max_tokens", 4);
        body.put("temperature", 0);
        Reply first = client().complete(body, ReplyListener.NONE);
        Reply second = client().complete(body, ReplyListener.NONE);
        assertThat(second.receipt().cachedTokens()).isGreaterThanOrEqualTo(64);
        assertThat(second.receipt().services()).containsExactly("gateway", "prefill", "kv-cache", "decode");
        assertThat(second.text()).isEqualTo(first.text());
    }

    @Test
    void theModelHasItsName() throws IOException {
        assertThat(client().isHealthy()).isTrue();
        assertThat(client().modelId()).isEqualTo("millrace-mini");
    }

    @Test
    void aRefusalIsOneSentence() {
        assertThatThrownBy(() -> client().chat(Map.of("messages", List.of()), ReplyListener.NONE))
                .isInstanceOf(MillraceException.class)
                .hasMessageContaining("messages");
    }

    @Test
    void aPortInUseIsSaidBeforeAnythingIsLoaded() throws IOException {
        try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
                Suite other = new Suite(SuiteSettings.of(MINI).at(SuiteSettings.LOOPBACK, taken.getLocalPort()))) {
            assertThatThrownBy(() -> other.start(LoadProgress.SILENT))
                    .isInstanceOf(MillraceException.class)
                    .hasMessage("port " + taken.getLocalPort() + " is in use (expected: a free port; use --port N)");
        }
    }

    @Test
    void aFolderThatIsNoModelSaysWhatIsMissing(@TempDir Path folder) throws IOException {
        Files.copy(MINI.resolve("config.json"), folder.resolve("config.json"));
        assertRefused(folder, folder + " has no tokenizer.json, no *.safetensors");
        assertRefused(folder.resolve("nowhere"), "nowhere does not exist");
    }

    /// Packing is what takes long; there is no pack.
    @Test
    void aBrokenTokenizerOrTemplateIsToldBeforeWeightsAreRead(@TempDir Path folder) throws IOException {
        Path model = Files.createDirectory(folder.resolve("model"));
        for (String name : List.of("config.json", "tokenizer.json", "model.safetensors")) {
            Files.copy(MINI.resolve(name), model.resolve(name));
        }
        Path packs = folder.resolve("packs");
        EngineSettings plain = EngineSettings.defaults();
        SuiteSettings settings = SuiteSettings.of(model)
                .with(new EngineSettings(
                        plain.kernels(), plain.dsa(), plain.kv(), new WeightsSettings(0, null, packs.toString())));
        Files.writeString(model.resolve("chat_template.jinja"), "{% if %}");
        assertRefused(settings, "chat_template.jinja");
        Files.delete(model.resolve("chat_template.jinja"));
        for (String broken : List.of("", "{", "{}", "[]")) {
            Files.writeString(model.resolve("tokenizer.json"), broken);
            assertRefused(settings, "tokenizer.json");
        }
        assertThat(packs).doesNotExist();
    }

    @Test
    void aProviderThatCannotRunIsNamed() {
        try (Suite other = new Suite(SuiteSettings.of(MINI).computedBy("ascend"))) {
            assertThatThrownBy(() -> other.start(LoadProgress.SILENT))
                    .isInstanceOf(MillraceException.class)
                    .hasMessageContaining("ascend");
        }
    }

    private static void assertRefused(Path folder, String said) {
        assertRefused(SuiteSettings.of(folder), said);
    }

    private static void assertRefused(SuiteSettings settings, String said) {
        try (Suite other = new Suite(settings)) {
            assertThatThrownBy(() -> other.start(LoadProgress.SILENT))
                    .isInstanceOf(MillraceException.class)
                    .hasMessageContaining(said);
        }
    }

    private static Map<String, @Nullable Object> sum() {
        Map<String, @Nullable Object> body = new LinkedHashMap<>();
        body.put("messages", List.of(Map.of("role", "user", "content", "What is 37 + 58?")));
        body.put("temperature", 0);
        return body;
    }

    private MillraceClient client() {
        if (opened == null) {
            throw new IllegalStateException("not started");
        }
        return opened;
    }
}
