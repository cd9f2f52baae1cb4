package io.millrace.kernels.nativecode;

import java.io.IOException;
import java.io.InputStream;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
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
/// @param isHere   whether this build has it, so that what keeps it from loading can be put right
@SuppressWarnings("restricted")
record LibraryFile(Optional<SymbolLookup> symbols, List<IsaLevel> levels, String reason, boolean isHere) {
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
        long neededBytes = 0;
        try (InputStream in = LibraryFile.class.getResourceAsStream(resource())) {
            if (in == null) {
                return absent("no " + resource() + " in this build (a C compiler was missing when it was built)");
            }
            byte[] library = in.readAllBytes();
            neededBytes = library.length;
            Path file = Files.createTempFile(temporary, "millrace-kernels", ".so");
            try {
                Files.write(file, library);
                return load(file, "; expected: a temporary folder that may hold programs, see java.io.tmpdir");
            } finally {
                Files.delete(file);
            }
        } catch (IOException e) {
            return failed(unwritten(temporary, neededBytes, e));
        }
    }

    /// Why a folder did not take the library.
    ///
    /// @param neededBytes  of the library
    static String unwritten(Path folder, long neededBytes, IOException e) {
        String said = e instanceof FileSystemException told ? told.getReason() : e.getMessage();
        String reason = switch (e) {
            case NoSuchFileException _ -> "no such folder";
            case AccessDeniedException _ -> "no permission";
            default -> said == null ? "no reason told" : said;
        };
        long freeBytes = freeBytes(folder);
        String expected = freeBytes < neededBytes
                ? ", " + (freeBytes >> 10) + " KiB free (expected: a folder with " + ((neededBytes >> 10) + 1)
                        + " KiB of room"
                : " (expected: a writable folder";
        return "cannot be written to " + folder + ": " + reason + expected + ", see java.io.tmpdir)";
    }

    /// As much as anybody wants where the system does not tell.
    private static long freeBytes(Path folder) {
        try {
            return Files.getFileStore(folder).getUsableSpace();
        } catch (IOException e) {
            return Long.MAX_VALUE;
        }
    }

    private static LibraryFile load(Path file, String hint) {
        try {
            SymbolLookup symbols = SymbolLookup.libraryLookup(file, Arena.global());
            Optional<MemorySegment> levels = symbols.find(LEVELS);
            return levels.isEmpty()
                    ? failed(file + ": no function " + LEVELS + " (expected: the kernels of this build)")
                    : new LibraryFile(Optional.of(symbols), levels(levels.get()), "", true);
        } catch (IllegalArgumentException e) {
            return failed(file + " cannot be loaded (" + e.getMessage() + hint + ")");
        }
    }

    private static LibraryFile failed(String reason) {
        return new LibraryFile(Optional.empty(), List.of(), reason, true);
    }

    static LibraryFile absent(String reason) {
        return new LibraryFile(Optional.empty(), List.of(), reason, false);
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
