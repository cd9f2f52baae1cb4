package io.millrace.kernels.nativecode;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandleProxies;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/// Large pages of memory, for mapped files and for pools. A token reads hundreds of megabytes of weights, a
/// few experts of many, and thousands of cached rows, wherever they lie: with pages of 4 KiB the processor
/// looks up an address for each, and on a virtual machine that can take longer than reading it. Linux gives
/// pages of 2 MiB to memory advised so before it is written, and keeps a file in pages of up to that size if
/// the mapping through which it is read first was advised so and the file system is able to.
///
/// All of it is advice: where the system has no such pages nothing changes but speed.
@SuppressWarnings("restricted")
public final class LargePages {
    private static final Path SETTING = Path.of("/sys/kernel/mm/transparent_hugepage/enabled");
    private static final int MADV_HUGEPAGE = 14;
    private static final int POSIX_FADV_DONTNEED = 4;
    private static final int O_RDONLY = 0;
    private static final int PROT_READ_WRITE = 3;
    private static final int MAP_PRIVATE_ANONYMOUS = 0x22;
    private static final long LARGE = 2 << 20;

    private static final boolean OFFERED = isOffered();

    private LargePages() {}

    /// Functions of the C library. Public, as method handles can stand in for public interfaces alone.
    public interface Advise {
        int call(MemorySegment from, long bytes, int advice);
    }

    public interface Open {
        int call(MemorySegment path, int flags);
    }

    public interface AdviseFile {
        int call(int file, long from, long bytes, int advice);
    }

    public interface Close {
        int call(int file);
    }

    public interface Map {
        MemorySegment call(MemorySegment wanted, long bytes, int protection, int flags, int file, long from);
    }

    public interface Unmap {
        int call(MemorySegment from, long bytes);
    }

    private static boolean isOffered() {
        try {
            return !Files.readString(SETTING).contains("[never]");
        } catch (IOException e) {
            return false; // not Linux, or built without them
        }
    }

    /// Asks for large pages below a mapping, before it is read.
    ///
    /// @return whether the system took the advice
    public static boolean advise(MemorySegment mapping) {
        return OFFERED
                && function(Advise.class, "madvise", ADDRESS, JAVA_LONG, JAVA_INT)
                        .map(madvise -> madvise.call(mapping, mapping.byteSize(), MADV_HUGEPAGE) == 0)
                        .orElse(false);
    }

    /// Zeroed memory, in large pages where the system has them and it is worth it.
    ///
    /// @param bytes      its size
    /// @param alignment  of its start, in bytes, at most that of a page
    /// @param arena      with which it is given back
    /// @throws OutOfMemoryError if there is not so much
    public static MemorySegment allocate(long bytes, long alignment, Arena arena) {
        if (OFFERED && bytes >= 2 * LARGE) {
            Optional<Map> map = find("mmap")
                    .map(address -> proxy(
                            Map.class,
                            address,
                            FunctionDescriptor.of(
                                    ADDRESS, ADDRESS, JAVA_LONG, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_LONG)));
            Optional<Unmap> unmap = function(Unmap.class, "munmap", ADDRESS, JAVA_LONG);
            if (map.isPresent() && unmap.isPresent()) {
                MemorySegment start =
                        map.get().call(MemorySegment.NULL, bytes, PROT_READ_WRITE, MAP_PRIVATE_ANONYMOUS, -1, 0);
                if (start.address() != -1) {
                    MemorySegment memory =
                            start.reinterpret(bytes, arena, given -> unmap.get().call(given, bytes));
                    advise(memory);
                    // Written at once: memory that is not there is missed now and not in the middle of a request.
                    return memory.fill((byte) 0);
                }
            }
        }
        return arena.allocate(bytes, alignment);
    }

    /// Lets the system forget what it keeps of a file that is on the disk, so that it is read into large
    /// pages next: what has been written lies in small ones.
    ///
    /// @return whether the system took the advice
    public static boolean forget(Path file) {
        if (!OFFERED) {
            return false;
        }
        Optional<Open> open = function(Open.class, "open", ADDRESS, JAVA_INT);
        Optional<AdviseFile> fadvise =
                function(AdviseFile.class, "posix_fadvise", JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT);
        Optional<Close> close = function(Close.class, "close", JAVA_INT);
        if (open.isEmpty() || fadvise.isEmpty() || close.isEmpty()) {
            return false;
        }
        try (Arena arena = Arena.ofConfined()) {
            int opened = open.get().call(arena.allocateFrom(file.toString()), O_RDONLY);
            if (opened < 0) {
                return false;
            }
            int error = fadvise.get().call(opened, 0, 0, POSIX_FADV_DONTNEED);
            return close.get().call(opened) == 0 && error == 0;
        }
    }

    /// A function of the C library that returns an int.
    private static <T> Optional<T> function(Class<T> type, String name, MemoryLayout... parameters) {
        return find(name).map(address -> proxy(type, address, FunctionDescriptor.of(JAVA_INT, parameters)));
    }

    private static Optional<MemorySegment> find(String name) {
        return Linker.nativeLinker().defaultLookup().find(name);
    }

    private static <T> T proxy(Class<T> type, MemorySegment address, FunctionDescriptor signature) {
        return MethodHandleProxies.asInterfaceInstance(
                type, Linker.nativeLinker().downcallHandle(address, signature));
    }
}
