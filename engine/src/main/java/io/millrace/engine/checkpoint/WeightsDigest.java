package io.millrace.engine.checkpoint;

import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;

/// Identifies weights: SHA-256 over these bytes, all integers little-endian:
///
/// 1. u32 length of `config.json`, its bytes;
/// 2. per tensor, ascending by the bytes of its name: u32 length of the name, the name in UTF-8; u32
///    length of the dtype, the dtype as in the safetensors header (`BF16`); u32 rank, u64 per extent; the
///    32 bytes of SHA-256 over the tensor's data.
///
/// How tensors are spread over files, their order there and other files of the folder do not count.
final class WeightsDigest {
    private static final long CHUNK_BYTES = 1 << 26;

    private final MessageDigest sha256 = newSha256();

    WeightsDigest(byte[] configJson) {
        addBytes(configJson);
    }

    /// Adds the next tensor in name order.
    void add(TensorInfo info, MemorySegment data) {
        addBytes(info.name().getBytes(StandardCharsets.UTF_8));
        addBytes(info.type().name().getBytes(StandardCharsets.UTF_8));
        ByteBuffer shape = littleEndian(Integer.BYTES + info.shape().size() * Long.BYTES);
        shape.putInt(info.shape().size());
        info.shape().forEach(shape::putLong);
        sha256.update(shape.flip());
        MessageDigest content = newSha256();
        for (long from = 0; from < data.byteSize(); from += CHUNK_BYTES) {
            content.update(data.asSlice(from, Math.min(CHUNK_BYTES, data.byteSize() - from))
                    .asByteBuffer());
        }
        sha256.update(content.digest());
    }

    byte[] finish() {
        return sha256.digest();
    }

    private void addBytes(byte[] bytes) {
        sha256.update(littleEndian(Integer.BYTES).putInt(bytes.length).flip());
        sha256.update(bytes);
    }

    private static ByteBuffer littleEndian(int bytes) {
        return ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN);
    }

    private static MessageDigest newSha256() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java platform has SHA-256", e);
        }
    }
}
