package io.millrace.kvcache.store;

import com.google.protobuf.ByteString;
import io.millrace.engine.kv.BlockChecksum;
import java.util.ArrayList;
import java.util.List;

/// A block with one bit changed and a checksum that hides it; see [BlockStore#flipBit].
final class BitFlip {
    private BitFlip() {}

    static StoredBlock of(StoredBlock block, int section, int offset) {
        byte[] data = block.sections().get(section).data().toByteArray();
        data[offset] ^= 1;
        List<Section> sections = new ArrayList<>(block.sections());
        sections.set(
                section,
                new Section(
                        ByteString.copyFrom(data),
                        BlockChecksum.crc32c(block.id().toByteArray(), section, data)));
        return new StoredBlock(block.namespace(), block.id(), block.tokens(), sections);
    }
}
