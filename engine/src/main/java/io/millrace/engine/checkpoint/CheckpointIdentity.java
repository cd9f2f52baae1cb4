package io.millrace.engine.checkpoint;

import io.millrace.engine.error.MillraceException;
import io.millrace.engine.file.FileFault;
import io.millrace.engine.file.RegularFile;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.Set;
import java.util.TreeSet;
import tools.jackson.databind.JsonNode;

/// Tells whether a checkpoint has changed since it was last read, without reading its weights: by
/// `config.json`, the index of shards, and of each file its name, size, time of last change and header. A
/// file rewritten in place with its size and time kept is not noticed.
public final class CheckpointIdentity {
    private static final String CONFIG = "config.json";
    private static final String SINGLE = "model.safetensors";
    private static final String INDEX = "model.safetensors.index.json";

    private CheckpointIdentity() {}

    /// Whether the folder holds a checkpoint's tensors.
    public static boolean hasTensors(Path directory) {
        ModelFiles files = new ModelFiles(directory);
        return files.has(SINGLE) || files.has(INDEX);
    }

    /// SHA-256 of `config.json`, in hex.
    ///
    /// @throws MillraceException `INVALID_CHECKPOINT` if there is none
    public static String ofConfig(Path directory) {
        MessageDigest sha256 = sha256();
        sha256.update(JsonFile.read(new ModelFiles(directory).file(CONFIG)).bytes());
        return HexFormat.of().formatHex(sha256.digest());
    }

    /// SHA-256, in hex, over what tells a change.
    ///
    /// @throws MillraceException `INVALID_CHECKPOINT` if a file is missing or no safetensors file
    public static String of(Path directory) {
        ModelFiles files = new ModelFiles(directory);
        MessageDigest sha256 = sha256();
        add(sha256, JsonFile.read(files.file(CONFIG)).bytes());
        Set<String> names = new TreeSet<>();
        if (files.has(SINGLE) || !files.has(INDEX)) {
            names.add(SINGLE);
        } else {
            JsonFile index = JsonFile.read(files.file(INDEX));
            add(sha256, index.bytes());
            JsonKeys map = new JsonKeys(index.file(), "", index.root()).child("weight_map");
            for (JsonNode shard : map.object().values()) {
                names.add(shard.asString());
            }
        }
        for (String name : names) {
            addFile(sha256, files.file(name));
        }
        return HexFormat.of().formatHex(sha256.digest());
    }

    private static void addFile(MessageDigest sha256, Path file) {
        try (FileChannel channel = RegularFile.open(file, StandardOpenOption.READ)) {
            BasicFileAttributes attributes = Files.readAttributes(file, BasicFileAttributes.class);
            ByteBuffer numbers = ByteBuffer.allocate(2 * Long.BYTES).order(ByteOrder.LITTLE_ENDIAN);
            numbers.putLong(attributes.size());
            numbers.putLong(attributes.lastModifiedTime().to(java.util.concurrent.TimeUnit.NANOSECONDS));
            add(sha256, String.valueOf(file.getFileName()).getBytes(StandardCharsets.UTF_8));
            add(sha256, numbers.array());
            add(sha256, header(file, channel, attributes.size()));
        } catch (IOException e) {
            throw InvalidCheckpoint.of(file, FileFault.found(e), "a readable file", e);
        }
    }

    private static byte[] header(Path file, FileChannel channel, long size) throws IOException {
        ByteBuffer length = ByteBuffer.allocate(Long.BYTES).order(ByteOrder.LITTLE_ENDIAN);
        readFully(file, channel, length);
        long bytes = length.flip().getLong();
        long most = Math.min(size - Long.BYTES, SafetensorsHeader.MAX_HEADER_BYTES);
        if (bytes < 2 || bytes > most) {
            throw InvalidCheckpoint.of(
                    file,
                    "header length " + Long.toUnsignedString(bytes),
                    "2.." + most + " in a file of " + size + " bytes");
        }
        ByteBuffer header = ByteBuffer.allocate((int) bytes);
        readFully(file, channel, header);
        return header.array();
    }

    private static void readFully(Path file, FileChannel channel, ByteBuffer bytes) throws IOException {
        while (bytes.hasRemaining()) {
            if (channel.read(bytes) < 0) {
                throw InvalidCheckpoint.of(file, channel.size() + " bytes", "a whole safetensors header");
            }
        }
    }

    private static void add(MessageDigest sha256, byte[] bytes) {
        sha256.update(ByteBuffer.allocate(Integer.BYTES)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putInt(bytes.length)
                .flip());
        sha256.update(bytes);
    }

    private static MessageDigest sha256() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java platform has SHA-256", e);
        }
    }
}
