package io.millrace.engine.memory;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/// What memory the process can have and has, as Linux tells it. Whoever takes more is killed without a
/// word, so it is asked before.
///
/// @param limitBytes      of the machine or, if that is less, of the process's cgroup
/// @param limit           whose limit that is
/// @param swapBytes       what may be swapped out beside it
/// @param availableBytes  what the machine could give now
/// @param heldBytes       what the process holds and nobody can take from it: pages of mapped files are no
///                        part of it
public record MemoryLimits(long limitBytes, String limit, long swapBytes, long availableBytes, long heldBytes) {
    private static final Pattern UNIFIED = Pattern.compile("(?m)^0::(/.*)$");
    private static final Pattern OLD = Pattern.compile("(?m)^\\d+:(?:[^:]*,)?memory(?:,[^:]*)?:(/.*)$");

    /// Of the running process; empty where the system does not tell.
    public static Optional<MemoryLimits> ofThisProcess() {
        return read(Path.of("/"));
    }

    /// @param root  of the file system
    static Optional<MemoryLimits> read(Path root) {
        String machine = text(root.resolve("proc/meminfo"));
        OptionalLong total = kibibytes(machine, "MemTotal");
        OptionalLong held = kibibytes(text(root.resolve("proc/self/status")), "RssAnon");
        if (total.isEmpty() || held.isEmpty()) {
            return Optional.empty();
        }
        var limits = new MemoryLimits(
                total.getAsLong(),
                "the machine",
                kibibytes(machine, "SwapTotal").orElse(0),
                kibibytes(machine, "MemAvailable").orElse(total.getAsLong()),
                held.getAsLong());
        String groups = text(root.resolve("proc/self/cgroup"));
        Path hierarchy = root.resolve("sys/fs/cgroup");
        Matcher unified = UNIFIED.matcher(groups);
        if (unified.find()) {
            limits = limits.within(hierarchy, unified.group(1), "memory.max", "memory.swap.max");
        }
        Matcher old = OLD.matcher(groups);
        if (old.find()) {
            limits = limits.within(hierarchy.resolve("memory"), old.group(1), "memory.limit_in_bytes", "");
        }
        return Optional.of(limits);
    }

    /// With the limits of a group and those above it. A container often sees its own group as the topmost.
    private MemoryLimits within(Path hierarchy, String group, String limitFile, String swapFile) {
        MemoryLimits limits = this;
        @Nullable Path folder = hierarchy.resolve(group.substring(1)).normalize();
        while (folder != null && folder.startsWith(hierarchy)) {
            Path file = folder.resolve(limitFile);
            OptionalLong bytes = number(text(file));
            OptionalLong swap = swapFile.isEmpty() ? OptionalLong.empty() : number(text(folder.resolve(swapFile)));
            long leastSwap = Math.min(limits.swapBytes, swap.orElse(Long.MAX_VALUE));
            boolean isLess = bytes.isPresent() && bytes.getAsLong() < limits.limitBytes;
            limits = new MemoryLimits(
                    isLess ? bytes.getAsLong() : limits.limitBytes,
                    isLess ? "the container (" + file + ")" : limits.limit,
                    leastSwap,
                    limits.availableBytes,
                    limits.heldBytes);
            folder = folder.getParent();
        }
        return limits;
    }

    /// Why so much more can never be had; empty if it can.
    ///
    /// @param what  e.g. `a KV pool`
    public Optional<String> refusal(String what, long bytes) {
        if (bytes <= limitBytes + swapBytes - heldBytes) {
            return Optional.empty();
        }
        return Optional.of(what + " of " + mebibytes(bytes) + ", beside " + mebibytes(heldBytes)
                + " that the process holds (expected: no more than the " + mebibytes(limitBytes + swapBytes) + " that "
                + limit + " allows)");
    }

    /// What to expect if so much more is taken, for there is little; empty if there is enough.
    ///
    /// @param what         e.g. `a KV pool`
    /// @param mappedBytes  of files that are to stay in memory, but are read again if they do not
    /// @param heapBytes    that the heap may grow by
    public Optional<String> warning(String what, long bytes, long mappedBytes, long heapBytes) {
        if (heldBytes + bytes + mappedBytes + heapBytes > limitBytes) {
            return Optional.of(what + " of " + mebibytes(bytes) + ", " + mebibytes(mappedBytes) + " of packed weights, "
                    + mebibytes(heldBytes) + " that the process holds and " + mebibytes(heapBytes)
                    + " that its heap may grow by are more than the " + mebibytes(limitBytes) + " that " + limit
                    + " allows: weights may be read from the disk again and again, or the process be killed");
        }
        if (bytes > availableBytes) {
            return Optional.of(what + " of " + mebibytes(bytes) + " is more than the " + mebibytes(availableBytes)
                    + " that the machine has available now: the process may be killed");
        }
        return Optional.empty();
    }

    private static String mebibytes(long bytes) {
        return (bytes >> 20) + " MiB";
    }

    private static OptionalLong kibibytes(String text, String name) {
        Matcher line = Pattern.compile("(?m)^" + name + ":\\s*(\\d{1,15}) kB$").matcher(text);
        return line.find() ? OptionalLong.of(Long.parseLong(line.group(1)) << 10) : OptionalLong.empty();
    }

    /// Empty for `max`.
    private static OptionalLong number(String text) {
        String digits = text.strip();
        return digits.matches("\\d{1,18}") ? OptionalLong.of(Long.parseLong(digits)) : OptionalLong.empty();
    }

    /// Empty where there is no such file.
    private static String text(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            return "";
        }
    }
}
