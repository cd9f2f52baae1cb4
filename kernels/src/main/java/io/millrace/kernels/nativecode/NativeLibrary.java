package io.millrace.kernels.nativecode;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/// The shared library of C kernels, as packaged with this module. It stays loaded until the process ends.
@SuppressWarnings("restricted")
final class NativeLibrary {
    private static final Linker LINKER = Linker.nativeLinker();
    private static final FunctionDescriptor LEVELS = FunctionDescriptor.of(JAVA_INT);
    private static final FunctionDescriptor NUMBER = FunctionDescriptor.of(JAVA_LONG, JAVA_LONG);
    private static final FunctionDescriptor CHUNK = FunctionDescriptor.ofVoid(JAVA_LONG, JAVA_INT, JAVA_INT);

    /// Runs a chunk, `(function, call, chunk, worker)`. The thread counts as in Java: cheap, and no
    /// safepoint until it returns.
    private static final MethodHandle RUN_SHORT = LINKER.downcallHandle(CHUNK, Linker.Option.critical(false));

    /// The same for chunks that may take long: safepoints do not wait for them.
    private static final MethodHandle RUN_LONG = LINKER.downcallHandle(CHUNK);

    private static final MethodHandle ASK = LINKER.downcallHandle(NUMBER);

    private final SymbolLookup symbols;
    private final IsaLevel level;

    private NativeLibrary(SymbolLookup symbols, IsaLevel level) {
        this.symbols = symbols;
        this.level = level;
    }

    /// Where the library of this platform lies in the class path.
    static String resource() {
        String system = System.getProperty("os.name").toLowerCase(Locale.ROOT);
        String machine = System.getProperty("os.arch");
        return "/native/" + system + "-" + (machine.equals("amd64") ? "x86_64" : machine) + "/libmillrace_kernels.so";
    }

    /// Why there is no library for this platform.
    static Optional<String> absence() {
        return NativeLibrary.class.getResource(resource()) == null
                ? Optional.of("no " + resource() + " in this build (a C compiler was missing when it was built)")
                : Optional.empty();
    }

    /// Loads the library at the best level up to a cap.
    ///
    /// @param cap  highest level to use; empty for the best this processor has
    /// @throws IllegalArgumentException if the processor lacks the level named
    static NativeLibrary open(Optional<IsaLevel> cap) {
        SymbolLookup symbols = Loaded.SYMBOLS;
        List<IsaLevel> levels = levels(symbols);
        IsaLevel level = cap.orElse(levels.getLast());
        if (!levels.contains(level)) {
            throw new IllegalArgumentException(
                    "millrace.kernels.isa: " + level.id() + " (expected: one this processor has: "
                            + levels.stream().map(IsaLevel::id).toList() + ")");
        }
        return new NativeLibrary(symbols, level);
    }

    /// Levels this processor has, slowest first.
    static List<IsaLevel> levels() {
        return levels(Loaded.SYMBOLS);
    }

    private static List<IsaLevel> levels(SymbolLookup symbols) {
        int bits;
        try {
            bits = (int) LINKER.downcallHandle(symbols.findOrThrow("mr_levels"), LEVELS)
                    .invokeExact();
        } catch (Throwable e) { // downcall: invokeExact declares it
            throw new IllegalStateException("mr_levels failed", e);
        }
        List<IsaLevel> levels = new ArrayList<>();
        for (IsaLevel level : IsaLevel.values()) {
            if ((bits & level.bit()) != 0) {
                levels.add(level);
            }
        }
        return levels;
    }

    /// Loads the library once a process: from the folder that the system property
    /// `millrace.kernels.library` names (a build with sanitizers, say), else from the class path.
    private static final class Loaded {
        static final SymbolLookup SYMBOLS = load();

        private static SymbolLookup load() {
            String folder = System.getProperty("millrace.kernels.library");
            if (folder != null) {
                Path file = Path.of(folder).resolve(resource().substring("/native/".length()));
                return SymbolLookup.libraryLookup(file, Arena.global());
            }
            try {
                Path file = extracted();
                SymbolLookup symbols = SymbolLookup.libraryLookup(file, Arena.global());
                // What is mapped needs no name; so even a killed process leaves nothing behind.
                Files.delete(file);
                return symbols;
            } catch (IOException e) {
                throw new UncheckedIOException("native kernels could not be written to a temporary file", e);
            }
        }

        // A library in a jar has no path.
        private static Path extracted() throws IOException {
            try (InputStream in = NativeLibrary.class.getResourceAsStream(resource())) {
                if (in == null) {
                    throw new IllegalStateException(absence().orElse("native library vanished"));
                }
                Path file = Files.createTempFile("millrace-kernels", ".so");
                Files.write(file, in.readAllBytes());
                return file;
            }
        }
    }

    IsaLevel level() {
        return level;
    }

    /// The C function `mr_NAME_LEVEL`.
    MemorySegment function(String name) {
        return symbols.findOrThrow("mr_" + name + "_" + level.id());
    }

    /// Runs a chunk of a phase.
    static void run(MemorySegment function, boolean takesLong, long call, int chunk, int worker) {
        try {
            if (takesLong) {
                RUN_LONG.invokeExact(function, call, chunk, worker);
            } else {
                RUN_SHORT.invokeExact(function, call, chunk, worker);
            }
        } catch (Throwable e) { // downcall: invokeExact declares it
            throw new IllegalStateException("native call failed", e);
        }
    }

    /// Asks a function for a number, e.g. the size of a worker's memory.
    static long ask(MemorySegment function, long call) {
        try {
            return (long) ASK.invokeExact(function, call);
        } catch (Throwable e) { // downcall: invokeExact declares it
            throw new IllegalStateException("native call failed", e);
        }
    }
}
