package io.millrace.kernels.nativecode;

import java.io.IOException;
import java.io.InputStream;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/// The file of the C kernels, and what came of loading it. Whatever is wrong with it is a reason to do
/// without: another provider can serve.
///
/// @param symbols  its functions; empty if it could not be loaded
/// @param levels   instruction sets that it and this processor have, slowest first
/// @param reason   why it could not be loaded
@SuppressWarnings("restricted")
record LibraryFile(Optional<SymbolLookup> symbols, List<IsaLevel> levels, String reason) {
    private static final String LEVELS = "mr_levels";

    LibraryFile {
        levels = List.copyOf(levels);
    }

    /// Where the library of this platform lies in the class path.
    static String resource() {
        String system = System.getProperty("os.name").toLowerCase(Locale.ROOT);
        String machine = System.getProperty("os.arch");
        return "/native/" + system + "-" + (machine.equals("amd64") ? "x86_64" : machine) + "/libmillrace_kernels.so";
    }

    /// Loads the library of a folder, in which it lies as in the class path below `native`.
    static LibraryFile in(Path folder) {
        return load(folder.resolve(resource().substring("/native/".length())), "");
    }

    /// Loads the library of the class path. A library in a jar has no path, so it is written to a folder
    /// first; what is mapped needs no name, so nothing stays there, not even of a killed process.
    ///
    /// @param temporary  the folder
    static LibraryFile packaged(Path temporary) {
        try (InputStream in = LibraryFile.class.getResourceAsStream(resource())) {
            if (in == null) {
                return failed("no " + resource() + " in this build (a C compiler was missing when it was built)");
            }
            Path file = Files.createTempFile(temporary, "millrace-kernels", ".so");
            try {
                Files.write(file, in.readAllBytes());
                return load(file, "; expected: a temporary folder that may hold programs, see java.io.tmpdir");
            } finally {
                Files.delete(file);
            }
        } catch (IOException e) {
            return failed("cannot be written to " + temporary + " (expected: a writable folder, see java.io.tmpdir)");
        }
    }

    private static LibraryFile load(Path file, String hint) {
        try {
            SymbolLookup symbols = SymbolLookup.libraryLookup(file, Arena.global());
            Optional<MemorySegment> levels = symbols.find(LEVELS);
            return levels.isEmpty()
                    ? failed(file + ": no function " + LEVELS + " (expected: the kernels of this build)")
                    : new LibraryFile(Optional.of(symbols), levels(levels.get()), "");
        } catch (IllegalArgumentException e) {
            return failed(file + " cannot be loaded (" + e.getMessage() + hint + ")");
        }
    }

    private static LibraryFile failed(String reason) {
        return new LibraryFile(Optional.empty(), List.of(), reason);
    }

    private static List<IsaLevel> levels(MemorySegment function) {
        long bits = NativeLibrary.ask(function, 0);
        List<IsaLevel> levels = new ArrayList<>();
        for (IsaLevel level : IsaLevel.values()) {
            if ((bits & level.bit()) != 0) {
                levels.add(level);
            }
        }
        return levels;
    }
}
