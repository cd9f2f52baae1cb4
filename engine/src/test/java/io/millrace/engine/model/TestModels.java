package io.millrace.engine.model;

import io.millrace.engine.profile.WeightProfile;
import io.millrace.engine.settings.DsaSettings;
import io.millrace.engine.settings.EngineSettings;
import io.millrace.engine.settings.KernelSettings;
import io.millrace.engine.settings.KvSettings;
import io.millrace.engine.settings.WeightsSettings;
import io.millrace.kernels.KvFormat;
import io.millrace.kernels.MlaForm;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;

/// The models of the tests and how they are loaded.
public final class TestModels {
    /// The golden folders: small random checkpoints.
    public static final List<String> GOLDEN =
            List.of("glm5-tiny", "glm52-indexshare-tiny", "glm5-fp8-tiny", "deepseek-v32-tiny");

    /// The trained model.
    public static final String MINI = "mini";

    /// Kernel providers every bit rule holds for.
    public static final List<String> PROVIDERS = List.of("scalar", "vector", "native");

    private TestModels() {}

    /// How a test wants its model.
    ///
    /// @param provider  kernel provider
    /// @param threads   kernel threads
    /// @param form      form of attention
    /// @param format    KV format
    /// @param topK      sparse attention, 0 for dense, null for the model's own
    /// @param profile   number formats of the weights
    public record Options(
            String provider,
            int threads,
            MlaForm form,
            KvFormat format,
            @Nullable Integer topK,
            WeightProfile profile) {
        public static Options of(String provider) {
            return new Options(provider, 2, MlaForm.ABSORBED, KvFormat.F32, null, WeightProfile.CHECKPOINT);
        }

        public Options with(KvFormat changed) {
            return new Options(provider, threads, form, changed, topK, profile);
        }

        public Options with(MlaForm changed) {
            return new Options(provider, threads, changed, format, topK, profile);
        }

        public Options with(WeightProfile changed) {
            return new Options(provider, threads, form, format, topK, changed);
        }

        public Options withThreads(int changed) {
            return new Options(provider, changed, form, format, topK, profile);
        }

        public Options withTopK(int changed) {
            return new Options(provider, threads, form, format, changed, profile);
        }
    }

    /// [#PROVIDERS] as arguments of a parameterized test.
    static List<String> providers() {
        return PROVIDERS;
    }

    public static Path directory(String name) {
        Path root = Path.of(System.getProperty("millrace.root", ".."));
        return name.equals(MINI)
                ? root.resolve("models/mini")
                : root.resolve("engine/src/test/resources/golden").resolve(name);
    }

    public static LoadedModel load(String name, Options options) {
        EngineSettings settings = new EngineSettings(
                new KernelSettings(options.provider, options.threads, options.form, null),
                new DsaSettings(options.topK),
                new KvSettings(options.format, null),
                new WeightsSettings(0, options.profile, WeightsSettings.OFF));
        return LoadedModel.load(directory(name), settings, LoadProgress.SILENT);
    }
}
