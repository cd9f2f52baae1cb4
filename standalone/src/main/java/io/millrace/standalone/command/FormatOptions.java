package io.millrace.standalone.command;

import io.millrace.standalone.keys.GivenKey;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/// Number formats and where packed weights are kept: some of the keys `millrace.weights.*` and `millrace.kv.*` as
/// options of their own.
final class FormatOptions {
    @Option(
            names = "--profile",
            paramLabel = "NAME",
            description = "Number formats of the weights: checkpoint (as stored), bf16, w8a8 or w4a8"
                    + " (default: checkpoint).")
    private @Nullable String profile;

    @Option(
            names = "--kv-format",
            paramLabel = "NAME",
            description = "Number format of cached keys: f32, bf16 or int8 (default: bf16).")
    private @Nullable String kvFormat;

    @Option(
            names = "--pack-dir",
            paramLabel = "DIR",
            description = "Folder of packed weights, which engines of one host share; off packs into memory"
                    + " (default: millrace in the user's cache folder).")
    private @Nullable String packDir;

    /// The options that are given, by key.
    Map<String, GivenKey> given() {
        Map<String, GivenKey> given = new LinkedHashMap<>();
        put(given, "millrace.weights.profile", "--profile", profile);
        put(given, "millrace.kv.format", "--kv-format", kvFormat);
        put(given, "millrace.weights.pack-dir", "--pack-dir", packDir);
        return given;
    }

    private static void put(Map<String, GivenKey> given, String key, String option, @Nullable String value) {
        if (value != null) {
            given.put(key, new GivenKey(value, option));
        }
    }
}
