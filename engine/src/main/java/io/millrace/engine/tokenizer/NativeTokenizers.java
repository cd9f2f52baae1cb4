package io.millrace.engine.tokenizer;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/// Settles, before DJL's classes load, what they read from system properties: no network, no telemetry,
/// and a folder for the native library that can be written to. A setting of the user wins.
final class NativeTokenizers {
    private static final String CACHE_DIR = "DJL_CACHE_DIR";

    private NativeTokenizers() {}

    static synchronized void prepare() {
        setDefault("ai.djl.offline", "true");
        setDefault("OPT_OUT_TRACKING", "true");
        if (!isSet(CACHE_DIR) && !isSet("ENGINE_CACHE_DIR")) {
            Path usual = Path.of(System.getProperty("user.home", "")).resolve(".djl.ai");
            if (!isWritable(usual)) {
                setDefault(CACHE_DIR, privateFolder().toString());
            }
        }
    }

    private static boolean isWritable(Path folder) {
        try {
            Files.createDirectories(folder);
            Files.delete(Files.createTempFile(folder, "probe", null));
            return true;
        } catch (IOException e) {
            return false;
        }
    }

    /// Not a fixed name: another user of the machine could have put a library there. Removed when the JVM
    /// ends.
    private static Path privateFolder() {
        try {
            Path folder = Files.createTempDirectory("millrace-tokenizers");
            Runtime.getRuntime().addShutdownHook(Thread.ofPlatform().unstarted(() -> delete(folder)));
            return folder;
        } catch (IOException e) {
            throw new IllegalStateException(
                    "no folder to unpack the tokenizer library to: neither the home folder nor "
                            + System.getProperty("java.io.tmpdir") + " can be written to (set " + CACHE_DIR + ")",
                    e);
        }
    }

    private static void delete(Path folder) {
        try (var files = Files.walk(folder)) {
            for (Path file : files.sorted((a, b) -> b.compareTo(a)).toList()) {
                Files.deleteIfExists(file);
            }
        } catch (IOException e) {
            System.getLogger(NativeTokenizers.class.getName())
                    .log(System.Logger.Level.DEBUG, "temporary folder not removed", e);
        }
    }

    private static boolean isSet(String name) {
        String environment = System.getenv(name);
        return (environment != null && !environment.isEmpty())
                || !System.getProperty(name, "").isEmpty();
    }

    private static void setDefault(String name, String value) {
        if (!isSet(name)) {
            System.setProperty(name, value);
        }
    }
}
