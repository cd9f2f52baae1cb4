package io.millrace.kernels.nativecode;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/// The shared library of C kernels, as packaged with this module. It stays loaded until the process ends.
@SuppressWarnings("restricted")
final class NativeLibrary {
    private static final Linker LINKER = Linker.nativeLinker();
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

    /// Why the library cannot be used here.
    static Optional<String> absence() {
        return Loaded.FILE.symbols().isPresent() ? Optional.empty() : Optional.of(Loaded.FILE.reason());
    }

    /// Whether it cannot be used although this build has it.
    static boolean isBroken() {
        return Loaded.FILE.isHere() && Loaded.FILE.symbols().isEmpty();
    }

    /// Loads the library at the best level up to a cap.
    ///
    /// @param cap  highest level to use; empty for the best this processor has
    /// @throws IllegalArgumentException if the processor lacks the level named
    /// @throws IllegalStateException if there is no library
    static NativeLibrary open(Optional<IsaLevel> cap) {
        LibraryFile file = Loaded.FILE;
        SymbolLookup symbols =
                file.symbols().orElseThrow(() -> new IllegalStateException("native kernels: " + file.reason()));
        List<IsaLevel> levels = file.levels();
        IsaLevel level = cap.orElse(levels.getLast());
        if (!levels.contains(level)) {
            throw new IllegalArgumentException(
                    "millrace.kernels.isa: " + level.id() + " (expected: one this processor has: "
                            + levels.stream().map(IsaLevel::id).toList() + ")");
        }
        return new NativeLibrary(symbols, level);
    }

    /// Levels this processor has, slowest first; none without a library.
    static List<IsaLevel> levels() {
        return Loaded.FILE.levels();
    }

    /// Loads the library once a process: from the folder that the system property
    /// `millrace.kernels.library` names (a build with sanitizers, say), else from the class path.
    private static final class Loaded {
        static final LibraryFile FILE = load();

        private static LibraryFile load() {
            String folder = System.getProperty("millrace.kernels.library");
            return folder == null
                    ? LibraryFile.packaged(Path.of(System.getProperty("java.io.tmpdir")))
                    : LibraryFile.in(Path.of(folder));
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
