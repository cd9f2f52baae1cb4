package io.millrace.kvcache.store;

/// Who a put stores for: it owns the pins of what is stored, and maybe a reservation.
sealed interface PutOwner permits Lease, UnleasedPut {

    PinSet pins();

    /// Room set aside and not used yet.
    long reservedBytes();

    void takeReservation(long sizeBytes);
}
