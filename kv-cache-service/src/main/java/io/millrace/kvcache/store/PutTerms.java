package io.millrace.kvcache.store;

import com.google.protobuf.ByteString;
import java.util.List;

/// What a put stream says first.
///
/// @param leaseId       lease that takes the blocks; empty for none
/// @param holder        a holder of that lease
/// @param sectionBytes  size of each section of each block
public record PutTerms(String leaseId, String holder, ByteString namespace, List<Integer> sectionBytes) {
    public PutTerms {
        sectionBytes = List.copyOf(sectionBytes);
    }

    boolean leased() {
        return !leaseId.isEmpty();
    }

    long blockBytes() {
        long total = 0;
        for (int sizeBytes : sectionBytes) {
            total += sizeBytes;
        }
        return total;
    }
}
