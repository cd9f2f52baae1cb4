package io.millrace.engine.pack;

import io.millrace.engine.checkpoint.CheckpointIdentity;
import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.engine.file.FileFault;
import io.millrace.engine.profile.WeightProfile;
import io.millrace.kernels.PackedMatrix;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/// Keeps packs of checkpoints in a folder: one file for each model folder, profile, form of attention and
/// set of layouts. A changed checkpoint takes the place of its former pack.
///
/// A file is used only if header, index and content have the right checksums and it was made from this
/// very source; otherwise it is packed anew, with a log line. The content is read and checked before the
/// first use: that costs what reading the file costs, and the weights must be read for the first tokens
/// anyway.
public final class PackCache {
    private static final Logger LOG = LoggerFactory.getLogger(PackCache.class);
    private static final String SUFFIX = ".millrace";
    private static final int MAX_NAME = 60;
    private static final int KEY_HEX = 16;

    private final PackDirectory directory;

    public PackCache(PackDirectory directory) {
        this.directory = directory;
    }

    /// Takes the pack of a checkpoint, made first if it is not there.
    ///
    /// @param request  what is wanted
    /// @param source   opens the checkpoint; called only if there is something to pack, and closed before
    ///                 this returns
    /// @throws IllegalArgumentException if the configured folder cannot be written
    /// @throws MillraceException `INVALID_CHECKPOINT`, as the source says
    public PackedWeights obtain(PackRequest request, Supplier<WeightTensors> source, PackProgress progress) {
        try {
            return obtainFile(request, source, progress);
        } catch (IOException e) {
            if (Thread.currentThread().isInterrupted()) {
                throw new MillraceException(ErrorCode.CANCELLED, "packing the weights was interrupted", e);
            }
            if (directory.demanded()) {
                throw new IllegalArgumentException(
                        "millrace.weights.pack-dir: " + directory.path() + ": " + reason(e)
                                + " (expected: a folder that can be written and has room, or off)",
                        e);
            }
            LOG.warn("{} cannot keep packed weights, packing into memory: {}", directory.path(), reason(e));
            return inMemory(request, source, progress);
        }
    }

    /// Packs into memory.
    @SuppressWarnings("MustBeClosedChecker") // the arena closes with the result, or here if packing fails
    public static PackedWeights inMemory(PackRequest request, Supplier<WeightTensors> source, PackProgress progress) {
        Arena arena = Arena.ofShared();
        boolean packed = false;
        try (WeightTensors tensors = source.get()) {
            PackedWeights.InMemory sink = new PackedWeights.InMemory(arena);
            String digest =
                    new Packer(request.plan(), tensors, request.kernels(), request.threads()).run(sink, progress);
            PackedWeights weights = sink.weights(request.profile(), digest);
            packed = true;
            return weights;
        } catch (IOException e) {
            throw new MillraceException(ErrorCode.CANCELLED, "packing the weights was interrupted", e);
        } finally {
            if (!packed) {
                arena.close();
            }
        }
    }

    /// Takes a pack that a model folder holds instead of a checkpoint.
    ///
    /// @param file     the pack
    /// @param request  what is wanted; its profile must be the pack's
    /// @throws MillraceException `INVALID_CHECKPOINT` if it is damaged, or made for another
    /// configuration, profile or other kernels
    public static PackedWeights takeGiven(Path file, PackRequest request) {
        String config = CheckpointIdentity.ofConfig(request.folder());
        try {
            return take(file, request, request.identity(config, config));
        } catch (IOException e) {
            throw invalid(file, e);
        }
    }

    /// Profile of a pack file.
    ///
    /// @throws MillraceException `INVALID_CHECKPOINT` if it is damaged
    public static WeightProfile profileOf(Path file) {
        try (PackFile pack = PackFile.open(file)) {
            return pack.index().identity().profile();
        } catch (IOException e) {
            throw invalid(file, e);
        }
    }

    private static MillraceException invalid(Path file, IOException e) {
        return new MillraceException(ErrorCode.INVALID_CHECKPOINT, file + ": " + reason(e), e);
    }

    /// Writes a pack that a model folder holds instead of a checkpoint, whole or not at all. A file that
    /// is there is replaced.
    ///
    /// @param file      the pack
    /// @param request   what to pack, and how; `config.json` is in its folder
    /// @param tensors   the weights; not closed
    /// @throws IOException if the file cannot be written
    public static void write(Path file, PackRequest request, WeightTensors tensors, PackProgress progress)
            throws IOException {
        String config = CheckpointIdentity.ofConfig(request.folder());
        PackSweep.abandoned(file);
        try (PackWriter writer = PackWriter.create(file)) {
            String digest =
                    new Packer(request.plan(), tensors, request.kernels(), request.threads()).run(writer, progress);
            writer.finish(request.identity(config, config), digest, "");
        }
    }

    private PackedWeights obtainFile(PackRequest request, Supplier<WeightTensors> source, PackProgress progress)
            throws IOException {
        directory.requireFolder();
        PackIdentity identity = request.identity(
                CheckpointIdentity.ofConfig(request.folder()), CheckpointIdentity.of(request.folder()));
        Path file = directory.path().resolve(fileName(request, identity));
        if (Files.isDirectory(file)) {
            throw new FileSystemException(
                    file.toString(), null, "a folder stands where its file " + file.getFileName() + " belongs");
        }
        boolean absent = Files.notExists(file);
        Optional<PackedWeights> warm = tryTake(file, request, identity);
        if (warm.isPresent()) {
            return warm.get();
        }
        Files.createDirectories(directory.path());
        try (PackLock lock = PackLock.acquire(file)) {
            // Somebody else may have made it in the meantime.
            Optional<PackedWeights> made =
                    absent || lock.waited() ? tryTake(file, request, identity) : Optional.empty();
            if (made.isPresent()) {
                return made.get();
            }
            PackSweep.run(directory.path(), SUFFIX, file);
            pack(file, request, identity, source, progress);
        }
        return tryTake(file, request, identity)
                .orElseThrow(() -> new IOException(file + " is not what was just written"));
    }

    private static void pack(
            Path file,
            PackRequest request,
            PackIdentity identity,
            Supplier<WeightTensors> source,
            PackProgress progress)
            throws IOException {
        long started = System.nanoTime();
        try (WeightTensors tensors = source.get();
                PackWriter writer = PackWriter.create(file)) {
            String digest =
                    new Packer(request.plan(), tensors, request.kernels(), request.threads()).run(writer, progress);
            String folder = request.folder().toRealPath().toString();
            writer.finish(identity, digest, folder);
        }
        LOG.info(
                "packed {} into {}, {} bytes in {} ms",
                request.folder(),
                file,
                Files.size(file),
                (System.nanoTime() - started) / 1_000_000);
    }

    /// The file's weights; empty if it is not there or must not be used.
    private static Optional<PackedWeights> tryTake(Path file, PackRequest request, PackIdentity identity) {
        try {
            return Optional.of(take(file, request, identity));
        } catch (NoSuchFileException e) {
            return Optional.empty();
        } catch (IOException e) {
            LOG.warn("{} is not used: {}", file, reason(e));
            return Optional.empty();
        }
    }

    /// Maps and checks a file.
    ///
    /// @throws IOException if it is damaged, or not of that identity
    static PackedWeights take(Path file, PackRequest request, PackIdentity identity) throws IOException {
        PackFile pack = PackFile.open(file);
        boolean taken = false;
        try {
            PackIdentity found = pack.index().identity();
            if (!found.equals(identity)) {
                throw new IOException("made from " + found + " (expected: " + identity + ")");
            }
            Map<String, PackedMatrix> matrices = pack.matrices();
            Optional<String> mismatch = request.plan().mismatch(matrices);
            if (mismatch.isPresent()) {
                throw new IOException(mismatch.get());
            }
            pack.verify(request.threads());
            PackedWeights weights = PackedWeights.mapped(pack, matrices);
            taken = true;
            return weights;
        } finally {
            if (!taken) {
                pack.close();
            }
        }
    }

    private static String fileName(PackRequest request, PackIdentity identity) throws IOException {
        Path folder = request.folder().toRealPath();
        String key = String.join(
                "\n",
                folder.toString(),
                identity.profile().id(),
                identity.form().name(),
                identity.layouts());
        String name = String.valueOf(folder.getFileName()).replaceAll("[^A-Za-z0-9._-]", "_");
        return name.substring(0, Math.min(MAX_NAME, name.length())) + "-"
                + identity.profile().id() + "-" + sha256(key).substring(0, KEY_HEX) + SUFFIX;
    }

    private static String sha256(String text) {
        try {
            return HexFormat.of()
                    .formatHex(MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8)));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java platform has SHA-256", e);
        }
    }

    private static String reason(IOException e) {
        return e instanceof NoSuchFileException ? "cannot be made" : FileFault.found(e);
    }
}
