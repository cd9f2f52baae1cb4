package io.millrace.rpc;

import com.google.protobuf.ByteString;
import java.util.zip.CRC32C;

/// Checksum of a section on the wire: CRC32C over block id ‖ layer as u32 little-endian ‖ bytes.
public final class SectionChecksum {
    private SectionChecksum() {}

    public static int crc32c(ByteString blockId, int layer, byte[] data) {
        CRC32C crc = new CRC32C();
        crc.update(blockId.toByteArray());
        crc.update(layer);
        crc.update(layer >>> 8);
        crc.update(layer >>> 16);
        crc.update(layer >>> 24);
        crc.update(data);
        return (int) crc.getValue();
    }
}
