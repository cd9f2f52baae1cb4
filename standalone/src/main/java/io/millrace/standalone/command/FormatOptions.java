package io.millrace.standalone.command;

import io.millrace.engine.profile.WeightProfile;
import io.millrace.engine.settings.DsaSettings;
import io.millrace.engine.settings.EngineSettings;
import io.millrace.engine.settings.KernelSettings;
import io.millrace.engine.settings.KvSettings;
import io.millrace.engine.settings.WeightsSettings;
import io.millrace.kernels.KvFormat;
import java.util.Locale;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Option;
import picocli.CommandLine.TypeConversionException;

/// Number formats, and where packed weights are kept: the keys `millrace.weights.*` and `millrace.kv.*`
/// of a command line.
final class FormatOptions {
    @Option(
            names = "--profile",
            paramLabel = "NAME",
            defaultValue = "checkpoint",
            converter = Profiles.class,
            description = "Number formats of the weights: checkpoint (as stored), bf16, w8a8 or w4a8"
                    + " (default: ${DEFAULT-VALUE}).")
    private WeightProfile profile = WeightProfile.CHECKPOINT;

    @Option(
            names = "--kv-format",
            paramLabel = "NAME",
            defaultValue = "bf16",
            converter = KvFormats.class,
            description = "Number format of cached keys: f32, bf16 or int8 (default: ${DEFAULT-VALUE}).")
    private KvFormat kvFormat = KvFormat.BF16;

    @Option(
            names = "--pack-dir",
            paramLabel = "DIR",
            description = "Folder of packed weights, which engines of one host share; off packs into memory"
                    + " (default: millrace in the user's cache folder).")
    private @Nullable String packDir;

    @Option(
            names = "--isa",
            paramLabel = "LEVEL",
            description = "Instruction set of the native kernels: auto, portable, avx2, avxvnni or avx512"
                    + " (default: ${DEFAULT-VALUE}).")
    private String isa = "auto";

    /// Settings of an engine.
    ///
    /// @param provider  of its kernels
    EngineSettings engine(String provider) {
        return new EngineSettings(
                new KernelSettings(provider, 0, null, isa),
                DsaSettings.defaults(),
                new KvSettings(kvFormat, null),
                new WeightsSettings(0, profile, packDir));
    }

    /// Reads a profile's name.
    static final class Profiles implements ITypeConverter<WeightProfile> {
        @Override
        public WeightProfile convert(String value) {
            try {
                return WeightProfile.of(value);
            } catch (IllegalArgumentException e) {
                throw new TypeConversionException(String.valueOf(e.getMessage()));
            }
        }
    }

    /// Reads the name of a format of cached keys.
    static final class KvFormats implements ITypeConverter<KvFormat> {
        @Override
        public KvFormat convert(String value) {
            for (KvFormat format : KvFormat.values()) {
                if (format.name().toLowerCase(Locale.ROOT).equals(value)) {
                    return format;
                }
            }
            throw new TypeConversionException("\"" + value + "\" (expected: f32, bf16 or int8)");
        }
    }
}
