package io.millrace.kvcache.store;

/// A put without a lease: it pins its chain only while it runs.
record UnleasedPut(PinSet pins) implements PutOwner {
    @Override
    public long reservedBytes() {
        return 0;
    }

    @Override
    public void takeReservation(long sizeBytes) {
        if (sizeBytes != 0) {
            throw new IllegalArgumentException("sizeBytes: " + sizeBytes + " (expected: 0)");
        }
    }
}
