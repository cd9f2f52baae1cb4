package io.millrace.kvcache.store;

import com.google.protobuf.ByteString;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeSet;

/// A claim on blocks, held by one or more processes until it is released, runs out, or loses its last
/// holder.
///
/// Not thread-safe: [BlockStore] guards it.
final class Lease implements PutOwner {
    final String id;
    final TreeSet<String> holders = new TreeSet<>();
    final Map<ByteString, StoredBlock> tails = new LinkedHashMap<>();
    private final PinSet pins;
    long expiresAtNanos;
    long tailBytes;
    boolean ended;
    private long reservedBytes;

    Lease(String id, PinSet pins) {
        this.id = id;
        this.pins = pins;
    }

    @Override
    public PinSet pins() {
        return pins;
    }

    @Override
    public long reservedBytes() {
        return reservedBytes;
    }

    @Override
    public void takeReservation(long sizeBytes) {
        reservedBytes -= sizeBytes;
    }

    void setReservation(long sizeBytes) {
        reservedBytes = sizeBytes;
    }
}
