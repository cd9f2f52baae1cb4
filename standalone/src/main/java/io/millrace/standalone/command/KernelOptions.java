package io.millrace.standalone.command;

import io.millrace.engine.settings.KernelSettings;
import io.millrace.standalone.keys.GivenKey;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Option;

/// What computes: the keys `millrace.kernels.*` as options, by the same names in every command that computes.
final class KernelOptions {
    private static final String THREADS = "millrace.kernels.threads";

    @Option(
            names = "--provider",
            paramLabel = "NAME",
            description = "Kernel provider: auto, scalar, vector or native (default: auto).")
    private @Nullable String provider;

    @Option(
            names = "--isa",
            paramLabel = "LEVEL",
            description = "Instruction set of the native kernels: auto, portable, avx2, avxvnni or avx512"
                    + " (default: auto).")
    private @Nullable String isa;

    @Option(
            names = "--threads",
            paramLabel = "N",
            converter = Threads.class,
            description = "Threads that compute; 0, the default: one for each processor.")
    private @Nullable Integer threads;

    /// The options that are given, by key.
    Map<String, GivenKey> given() {
        Map<String, GivenKey> given = new LinkedHashMap<>();
        if (provider != null) {
            given.put("millrace.kernels.provider", new GivenKey(provider, "--provider"));
        }
        if (threads != null) {
            given.put(THREADS, new GivenKey(Integer.toString(threads), "--threads"));
        }
        if (isa != null) {
            given.put("millrace.kernels.isa", new GivenKey(isa, "--isa"));
        }
        return given;
    }

    /// The same, and as many threads as there are processors where the command line does not say how many.
    Map<String, GivenKey> withThreads() {
        Map<String, GivenKey> given = given();
        if (threads == null || threads == 0) {
            String processors = Integer.toString(Runtime.getRuntime().availableProcessors());
            given.put(THREADS, new GivenKey(processors, "--threads"));
        }
        return given;
    }

    /// Reads a number of threads; 0 for one for each processor.
    static final class Threads implements ITypeConverter<Integer> {
        @Override
        public Integer convert(String value) {
            return (int) WholeNumbers.read(value, 0, KernelSettings.MAX_THREADS);
        }
    }
}
