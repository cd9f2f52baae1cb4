package io.millrace.standalone.suite;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.engine.model.LoadProgress;
import io.millrace.engine.profile.WeightProfile;
import io.millrace.engine.settings.DsaSettings;
import io.millrace.engine.settings.EngineSettings;
import io.millrace.engine.settings.KernelSettings;
import io.millrace.engine.settings.KvSettings;
import io.millrace.engine.settings.WeightsSettings;
import io.millrace.kernels.KvFormat;
import io.millrace.standalone.client.MillraceClient;
import io.millrace.standalone.client.Reply;
import io.millrace.standalone.client.ReplyListener;
import java.io.IOException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/// A suite whose weights are int4 and int8 and whose cached keys are int8: pages travel from prefill to
/// the cache and to decode as others do.
class IntegerSuiteIT {
    private static final Path MINI = Path.of(System.getProperty("millrace.root", ".."), "models", "mini");

    @TempDir
    Path packs;

    @Test
    void answersTheSumAndHitsItsCache() throws IOException {
        EngineSettings integers = new EngineSettings(
                KernelSettings.defaults(),
                DsaSettings.defaults(),
                new KvSettings(KvFormat.INT8, null),
                new WeightsSettings(0, WeightProfile.W4A8, packs.toString()));
        try (Suite suite = new Suite(SuiteSettings.of(MINI).with(integers))) {
            suite.start(LoadProgress.SILENT);
            try (MillraceClient client = new MillraceClient(suite.url())) {
                Reply sum = client.chat(
                        Map.of(
                                "messages",
                                List.of(Map.of("role", "user", "content", "What is 37 + 58?")),
                                "temperature",
                                0),
                        ReplyListener.NONE);
                assertThat(sum.text()).contains("95");
                Map<String, @Nullable Object> code = new LinkedHashMap<>();
                code.put("prompt", "int a = 1; ".repeat(60));
                code.put("max_tokens", 8);
                code.put("temperature", 0);
                Reply miss = client.complete(code, ReplyListener.NONE);
                Reply hit = client.complete(code, ReplyListener.NONE);
                assertThat(hit.receipt().cachedTokens()).isGreaterThanOrEqualTo(64);
                assertThat(hit.receipt().services()).containsExactly("gateway", "prefill", "kv-cache", "decode");
                assertThat(hit.text()).isEqualTo(miss.text());
            }
        }
        assertThat(packs).isDirectoryContaining(file -> file.toString().endsWith(".millrace"));
    }
}
