package io.millrace.engine.settings;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.millrace.engine.profile.WeightProfile;
import io.millrace.kernels.KvFormat;
import io.millrace.kernels.MlaForm;
import java.util.List;
import org.junit.jupiter.api.Test;

class EngineSettingsTest {

    @Test
    void defaultsArePinned() {
        EngineSettings settings = EngineSettings.defaults();
        assertThat(settings.kernels()).isEqualTo(new KernelSettings("auto", 0, MlaForm.ABSORBED, "auto"));
        assertThat(settings.dsa().topKOverride()).isEmpty();
        assertThat(settings.kv()).isEqualTo(new KvSettings(KvFormat.BF16, 32_768));
        assertThat(settings.kv().poolPages()).isEqualTo(512);
        assertThat(settings.weights()).isEqualTo(new WeightsSettings(0, WeightProfile.CHECKPOINT, null));
    }

    @Test
    void zeroTopKIsDenseAndNotTheDefault() {
        assertThat(new DsaSettings(0).topKOverride()).hasValue(0);
    }

    @Test
    void partlyFilledPagesCountAsPages() {
        assertThat(new KvSettings(null, 65).poolPages()).isEqualTo(2);
    }

    @Test
    void refusesWhatCannotBe() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new KernelSettings("No Such", 0, null, null))
                .withMessageContaining("millrace.kernels.provider");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new KernelSettings(null, -1, null, null))
                .withMessageContaining("-1");
        for (String provider : List.of("vector", "scalar")) {
            assertThat(new KernelSettings(provider, 0, null, "auto").isaLevel()).isEmpty();
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> new KernelSettings(provider, 0, null, "avx2"))
                    .withMessage("millrace.kernels.isa: avx2 beside millrace.kernels.provider " + provider
                            + " (expected: auto; only native kernels choose an instruction set)");
        }
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new DsaSettings(-1))
                .withMessageContaining("millrace.dsa.top-k: -1");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new KvSettings(null, 63))
                .withMessageContaining("64..");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new WeightsSettings(-1, null, null))
                .withMessageContaining("millrace.weights.version");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new WeightsSettings(0, null, " "))
                .withMessageContaining("millrace.weights.pack-dir");
    }
}
