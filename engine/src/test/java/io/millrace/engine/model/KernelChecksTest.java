package io.millrace.engine.model;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.spi.ILoggingEvent;
import io.millrace.engine.logging.RecordedLog;
import io.millrace.engine.settings.DsaSettings;
import io.millrace.engine.settings.EngineSettings;
import io.millrace.engine.settings.KernelSettings;
import io.millrace.engine.settings.KvSettings;
import io.millrace.engine.settings.WeightsSettings;
import io.millrace.kernels.ForwardingKernels;
import io.millrace.kernels.KernelCheck;
import io.millrace.kernels.KernelCheck.Verdict;
import io.millrace.kernels.Kernels;
import io.millrace.kernels.QuantFormat;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class KernelChecksTest {
    private static final Path MINI = Path.of(System.getProperty("millrace.root"), "models", "mini");
    private static final KernelCheck SOUND = new KernelCheck("bf16-one-row", 27, 8, Verdict.AT_SPEED);
    private static final KernelCheck SLOW = new KernelCheck("bf16-rows", 7.9, 19, Verdict.BELOW_FLOOR);

    private final RecordedLog log = new RecordedLog(KernelChecks.class.getName());

    @AfterEach
    void listenNoMore() {
        log.close();
    }

    @Test
    void aModelWhoseKernelsAreSlowSaysWhichInTheLogAndKeepsTheOutcome() {
        try (LoadedModel model = load(List.of(SOUND, SLOW))) {
            assertThat(model.kernelChecks()).containsExactly(SOUND, SLOW);
        }
        assertThat(log.lines()).extracting(ILoggingEvent::getLevel).containsExactly(Level.INFO, Level.ERROR);
        assertThat(log.lines().getFirst().getFormattedMessage())
                .contains("[bf16-one-row 27.00 of 8.00, bf16-rows 7.90 of 19.00 (BELOW ITS FLOOR)]");
        assertThat(log.lines().getLast().getFormattedMessage())
                .startsWith("KERNEL bf16-rows 7.90 of 19.00 (BELOW ITS FLOOR) IS SLOW in this process");
    }

    private static LoadedModel load(List<KernelCheck> checks) {
        EngineSettings settings = new EngineSettings(
                new KernelSettings("vector", 1, null, null),
                DsaSettings.defaults(),
                KvSettings.defaults(),
                WeightsSettings.defaults());
        return LoadedModel.load(MINI, settings, LoadProgress.SILENT, kernels -> new Planted(kernels, checks));
    }

    private static final class Planted extends ForwardingKernels {
        private final List<KernelCheck> checks;

        Planted(Kernels kernels, List<KernelCheck> checks) {
            super(kernels);
            this.checks = checks;
        }

        @Override
        public List<KernelCheck> check(Set<QuantFormat> formats) {
            return checks;
        }
    }
}
