package io.millrace.kvcache.store;

import com.google.protobuf.ByteString;
import java.util.List;

/// The bytes of one complete block or tail. Immutable: who has a reference may read it whatever the
/// tree does.
///
/// @param id        32 bytes; a tail has its lease's id and an index as text
/// @param tokens    64, fewer in a tail
public record StoredBlock(ByteString namespace, ByteString id, int tokens, List<Section> sections) {
    public StoredBlock {
        sections = List.copyOf(sections);
    }

    public long sizeBytes() {
        long total = 0;
        for (Section section : sections) {
            total += section.data().size();
        }
        return total;
    }
}
