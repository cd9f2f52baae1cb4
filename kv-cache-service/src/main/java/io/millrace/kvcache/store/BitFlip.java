package io.millrace.kvcache.store;

import com.google.protobuf.ByteString;
import io.millrace.engine.kv.BlockChecksum;
import java.util.ArrayList;
import java.util.List;

/// A block with one bit changed; see [BlockStore#flipBit].
final class BitFlip {
    private BitFlip() {}

    /// @param hidden  whether the checksum is made to fit
    static StoredBlock of(StoredBlock block, int section, int offset, boolean hidden) {
        Section old = block.sections().get(section);
        byte[] data = old.data().toByteArray();
        data[offset] ^= 1;
        int crc32c = hidden ? BlockChecksum.crc32c(block.id().toByteArray(), section, data) : old.crc32c();
        List<Section> sections = new ArrayList<>(block.sections());
        sections.set(section, new Section(ByteString.copyFrom(data), crc32c));
        return new StoredBlock(block.namespace(), block.id(), block.tokens(), sections);
    }
}
