package io.millrace.prefill;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.millrace.engine.profile.WeightProfile;
import io.millrace.engine.schedule.LoopSettings;
import io.millrace.engine.settings.EngineSettings;
import io.millrace.engine.settings.WeightsSettings;
import io.millrace.kernels.KvFormat;
import io.millrace.kernels.MlaForm;
import io.millrace.startup.EngineKeys;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.MapConfigurationPropertySource;
import org.springframework.core.env.MapPropertySource;
import org.springframework.core.env.StandardEnvironment;

class PrefillSettingsTest {

    private static EngineSettings engine(Map<String, Object> keys) {
        var environment = new StandardEnvironment();
        environment.getPropertySources().addFirst(new MapPropertySource("test", keys));
        return EngineKeys.bind(environment);
    }

    @Test
    void aTargetThatIsNoneIsRefused() {
        var keys = new MapConfigurationPropertySource(Map.of("millrace.prefill.kv-cache-targets", "foo://x:y:z"));
        assertThatThrownBy(() -> new Binder(keys).bind("millrace.prefill", PrefillSettings.class))
                .rootCause()
                .hasMessage(
                        "kvCacheTargets: foo://x:y:z (expected: host:port, static://host:port or dns:///host:port)");
    }

    @Test
    void defaultsArePinned() {
        PrefillSettings settings = new Binder(new MapConfigurationPropertySource(Map.of()))
                .bindOrCreate("millrace.prefill", PrefillSettings.class);
        assertThat(settings.instance()).isNull();
        assertThat(settings.kvCacheTargets()).isEmpty();
        assertThat(settings.verifyChecksums()).isTrue();
        assertThat(settings.loop()).isEqualTo(new LoopSettings(16, 64, 256, 10_000, 100));
        assertThat(engine(Map.of())).isEqualTo(EngineSettings.defaults());
    }

    @Test
    void engineKeysBind() {
        EngineSettings settings = engine(Map.of(
                "millrace.kernels.provider", "scalar",
                "millrace.kernels.mla-form", "naive",
                "millrace.dsa.top-k", "0",
                "millrace.kv.format", "int8",
                "millrace.kv.pool-tokens", "640",
                "millrace.weights.version", "7",
                "millrace.weights.profile", "w4a8",
                "millrace.weights.pack-dir", "/packs"));
        assertThat(settings.kernels().provider()).isEqualTo("scalar");
        assertThat(settings.kernels().mlaForm()).isEqualTo(MlaForm.NAIVE);
        assertThat(settings.dsa().topKOverride()).hasValue(0);
        assertThat(settings.kv().format()).isEqualTo(KvFormat.INT8);
        assertThat(settings.kv().poolPages()).isEqualTo(10);
        assertThat(settings.weights()).isEqualTo(new WeightsSettings(7, WeightProfile.W4A8, "/packs"));
    }

    @Test
    void unknownOrWrongEngineKeysFail() {
        assertThatThrownBy(() -> engine(Map.of("millrace.kernels.no-such-key", "1")))
                .hasStackTraceContaining("no-such-key");
        assertThatThrownBy(() -> engine(Map.of("millrace.kv.pool-tokens", "3")))
                .hasStackTraceContaining("millrace.kv.pool-tokens: 3");
    }
}
