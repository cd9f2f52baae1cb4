package io.millrace.engine.kv;

import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;

/// The digest behind every id.
final class Sha256 {
    private Sha256() {}

    static MessageDigest start() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java platform has SHA-256", e);
        }
    }
}
