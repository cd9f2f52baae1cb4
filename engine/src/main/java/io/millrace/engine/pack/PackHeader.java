package io.millrace.engine.pack;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.zip.CRC32C;

/// The first page of a pack file, little-endian:
///
/// | bytes | |
/// |---|---|
/// | 8 | magic `MILLPACK` |
/// | 4 | version of file layout and quantiser |
/// | 4 | 0 |
/// | 8 | bytes of the file |
/// | 8 | offset of the index, the end of the content |
/// | 8 | bytes of the index |
/// | 4 | CRC32C of the index |
/// | 4 | CRC32C of the bytes above |
///
/// zeros up to [#BYTES], where the content begins. It is written last: a file without it is nothing.
///
/// @param fileBytes      bytes of the file
/// @param indexOffset    where the [PackIndex] begins
/// @param indexBytes     its length
/// @param indexChecksum  its CRC32C
record PackHeader(long fileBytes, long indexOffset, int indexBytes, int indexChecksum) {
    /// Bytes of the header: a page, so that the content begins on one.
    static final int BYTES = 4096;

    /// Border on which every matrix begins.
    static final int ALIGNMENT = 64;

    /// Version of the file layout, and of how floats are rounded when packing.
    static final int VERSION = 1;

    private static final long MAGIC =
            ByteBuffer.wrap("MILLPACK".getBytes(StandardCharsets.US_ASCII)).getLong();
    private static final int FIELDS = 48;
    private static final int MAX_INDEX_BYTES = 1 << 30;

    ByteBuffer encode() {
        ByteBuffer bytes = ByteBuffer.allocate(BYTES);
        bytes.putLong(MAGIC).order(ByteOrder.LITTLE_ENDIAN);
        bytes.putInt(VERSION).putInt(0);
        bytes.putLong(fileBytes).putLong(indexOffset).putLong(indexBytes).putInt(indexChecksum);
        bytes.putInt(FIELDS - Integer.BYTES, crc(bytes.duplicate().position(0).limit(FIELDS - Integer.BYTES)));
        return bytes.clear();
    }

    /// @throws IOException if the file does not begin with a sound header
    static PackHeader decode(MemorySegment file) throws IOException {
        if (file.byteSize() < BYTES) {
            throw new IOException(file.byteSize() + " bytes (expected: at least " + BYTES + ")");
        }
        ByteBuffer bytes = file.asSlice(0, BYTES).asByteBuffer();
        if (bytes.getLong() != MAGIC) {
            throw new IOException("no pack of weights (expected: MILLPACK)");
        }
        bytes.order(ByteOrder.LITTLE_ENDIAN);
        int version = bytes.getInt();
        if (version != VERSION) {
            throw new IOException("version " + version + " (expected: " + VERSION + ")");
        }
        bytes.getInt();
        long fileBytes = bytes.getLong();
        long indexOffset = bytes.getLong();
        long indexBytes = bytes.getLong();
        int indexChecksum = bytes.getInt();
        if (bytes.getInt() != crc(bytes.duplicate().position(0).limit(FIELDS - Integer.BYTES))) {
            throw new IOException("header with a wrong checksum");
        }
        if (fileBytes != file.byteSize()) {
            throw new IOException(file.byteSize() + " bytes (expected: " + fileBytes + ")");
        }
        if (indexOffset < BYTES
                || indexBytes < 0
                || indexBytes > MAX_INDEX_BYTES
                || indexOffset != fileBytes - indexBytes) {
            throw new IOException("index of " + indexBytes + " bytes at " + indexOffset + " of " + fileBytes);
        }
        return new PackHeader(fileBytes, indexOffset, (int) indexBytes, indexChecksum);
    }

    static int crc(ByteBuffer bytes) {
        CRC32C crc = new CRC32C();
        crc.update(bytes);
        return (int) crc.getValue();
    }
}
