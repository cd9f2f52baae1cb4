package io.millrace.engine.kv;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;

/// Computes the namespace of cached blocks: SHA-256 over these fields in order, each as u32-LE length ‖
/// bytes: `millrace-kv-1`, weights digest, adapter digest, tenant salt, numerics id, layout id. Whatever
/// changes the bytes of a block changes one of them.
public final class KvNamespace {
    private static final String VERSION = "millrace-kv-1";
    private static final int DIGEST_BYTES = 32;

    private KvNamespace() {}

    /// The namespace, which is also the id that the chain of every prompt starts from.
    ///
    /// @param weightsDigest  32 bytes
    /// @param adapterDigest  32 bytes, zeros without an adapter
    /// @param tenantSalt     32 bytes
    /// @param numericsId     profile, rotation seed, KV format, DSA mode, kernel numerics version
    /// @param layoutId       layout of a block's bytes
    public static BlockId compute(
            byte[] weightsDigest, byte[] adapterDigest, byte[] tenantSalt, String numericsId, String layoutId) {
        MessageDigest digest = Sha256.start();
        add(digest, VERSION.getBytes(StandardCharsets.UTF_8));
        addDigest(digest, "weightsDigest", weightsDigest);
        addDigest(digest, "adapterDigest", adapterDigest);
        addDigest(digest, "tenantSalt", tenantSalt);
        add(digest, numericsId.getBytes(StandardCharsets.UTF_8));
        add(digest, layoutId.getBytes(StandardCharsets.UTF_8));
        return BlockId.of(digest.digest());
    }

    private static void addDigest(MessageDigest digest, String name, byte[] bytes) {
        if (bytes.length != DIGEST_BYTES) {
            throw new IllegalArgumentException(name + ": " + bytes.length + " bytes (expected: " + DIGEST_BYTES + ")");
        }
        add(digest, bytes);
    }

    private static void add(MessageDigest digest, byte[] bytes) {
        digest.update(ByteBuffer.allocate(Integer.BYTES)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putInt(bytes.length)
                .flip());
        digest.update(bytes);
    }
}
