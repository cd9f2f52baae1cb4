package io.millrace.engine.kv;

import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.zip.CRC32C;

/// Checksum of one section of a block: CRC32C over block id ‖ section number as u32 LE ‖ bytes. The id of
/// a tail block is not a [BlockId] but has a checksum all the same, hence the byte array.
public final class BlockChecksum {
    private BlockChecksum() {}

    /// Checksum of `data`, the section `layer` of the block `blockId`.
    public static int crc32c(byte[] blockId, int layer, byte[] data) {
        return crc32c(blockId, layer, ByteBuffer.wrap(data));
    }

    /// The same of a memory segment of less than 2 GiB.
    public static int crc32c(byte[] blockId, int layer, MemorySegment data) {
        return crc32c(blockId, layer, data.asByteBuffer());
    }

    /// The same of what remains in a buffer, whose position is moved to its limit.
    public static int crc32c(byte[] blockId, int layer, ByteBuffer data) {
        CRC32C crc = new CRC32C();
        crc.update(blockId);
        crc.update(ByteBuffer.allocate(Integer.BYTES)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putInt(layer)
                .flip());
        crc.update(data);
        return (int) crc.getValue();
    }
}
