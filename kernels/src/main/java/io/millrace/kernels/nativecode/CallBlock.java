package io.millrace.kernels.nativecode;

import static java.lang.foreign.ValueLayout.JAVA_DOUBLE;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.millrace.kernels.KvFormat;
import io.millrace.kernels.PagedRows;
import java.lang.foreign.MemorySegment;

/// An argument block in native memory, written field by field in the order of its C structure
/// (`calls.h`); every field is eight bytes wide.
final class CallBlock {
    private static final long NOTHING = 0;

    private final Buffer memory;
    private final int maxFields;
    private MemorySegment fields;
    private long at;

    /// @param maxFields  fields it has at most, unless [#begin(int)] says otherwise
    CallBlock(Buffers buffers, int maxFields) {
        this.memory = buffers.buffer();
        this.maxFields = maxFields;
        this.fields = MemorySegment.NULL;
    }

    /// Starts anew.
    CallBlock begin() {
        return begin(maxFields);
    }

    /// Starts anew, with room for so many fields.
    CallBlock begin(int count) {
        fields = memory.bytes((long) count * Long.BYTES);
        at = 0;
        return this;
    }

    CallBlock put(long value) {
        fields.set(JAVA_LONG, at, value);
        at += Long.BYTES;
        return this;
    }

    CallBlock put(boolean value) {
        return put(value ? 1 : 0);
    }

    CallBlock put(double value) {
        fields.set(JAVA_DOUBLE, at, value);
        at += Double.BYTES;
        return this;
    }

    /// An address. Whoever calls keeps the segment reachable until the phase has run.
    CallBlock put(MemorySegment segment) {
        return put(segment.address());
    }

    /// A null pointer.
    CallBlock putNull() {
        return put(NOTHING);
    }

    /// `paged_rows`.
    CallBlock put(PagedRows rows) {
        return put(rows.pool().address() + rows.sectionOffset())
                .put(rows.pageBytes())
                .put(rows.rowElements())
                .put(rows.firstPart())
                .put(kvFormat(rows.format()));
    }

    private static long kvFormat(KvFormat format) {
        return switch (format) {
            case F32 -> 0;
            case BF16 -> 1;
            case INT8 -> 2;
        };
    }

    /// Where a later field is to be changed.
    long mark() {
        return at;
    }

    /// Changes a field.
    void set(long mark, long value) {
        fields.set(JAVA_LONG, mark, value);
    }

    long address() {
        return fields.address();
    }
}
