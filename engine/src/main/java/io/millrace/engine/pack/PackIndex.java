package io.millrace.engine.pack;

import io.millrace.engine.profile.WeightProfile;
import io.millrace.kernels.MlaForm;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;

/// The table of a pack file: what it was made from, where each matrix lies and the checksums of the
/// content. Big-endian, as `DataOutput` writes it.
///
/// @param identity       what the pack was made from and for
/// @param weightsDigest  SHA-256 of the weights, in hex
/// @param sourceFolder   where the weights were read, absolute; empty if nowhere
/// @param entries        matrices and vectors, in the order of their offsets
/// @param checksums      CRC32C of each [#CHUNK_BYTES] from [PackHeader#BYTES] up to the index
record PackIndex(
        PackIdentity identity,
        String weightsDigest,
        String sourceFolder,
        List<PackEntry> entries,
        List<Integer> checksums) {
    /// Bytes that one checksum covers.
    static final int CHUNK_BYTES = 8 << 20;

    private static final int MAX_ENTRIES = 1 << 22;
    private static final int MAX_CHUNKS = 1 << 22;

    PackIndex {
        entries = List.copyOf(entries);
        checksums = List.copyOf(checksums);
    }

    byte[] encode() {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (DataOutputStream out = new DataOutputStream(bytes)) {
            out.writeUTF(identity.config());
            out.writeUTF(identity.source());
            out.writeUTF(identity.profile().name());
            out.writeUTF(identity.form().name());
            out.writeUTF(identity.layouts());
            out.writeUTF(weightsDigest);
            out.writeUTF(sourceFolder);
            out.writeInt(entries.size());
            for (PackEntry entry : entries) {
                entry.write(out);
            }
            out.writeInt(checksums.size());
            for (int checksum : checksums) {
                out.writeInt(checksum);
            }
        } catch (IOException e) {
            throw new UncheckedIOException("writing to memory", e);
        }
        return bytes.toByteArray();
    }

    /// @throws IOException if the bytes are no index, or entries do not lie one after the other in the
    ///     content
    static PackIndex decode(byte[] bytes, long contentEnd) throws IOException {
        try (DataInputStream in = new DataInputStream(new ByteArrayInputStream(bytes))) {
            PackIdentity identity = new PackIdentity(
                    in.readUTF(),
                    in.readUTF(),
                    constant(WeightProfile.values(), in.readUTF()),
                    constant(MlaForm.values(), in.readUTF()),
                    in.readUTF());
            String digest = in.readUTF();
            String folder = in.readUTF();
            int count = count(in, MAX_ENTRIES);
            List<PackEntry> entries = new ArrayList<>();
            long end = PackHeader.BYTES;
            for (int i = 0; i < count; i++) {
                PackEntry entry = PackEntry.read(in);
                if (entry.offset() % PackHeader.ALIGNMENT != 0
                        || entry.offset() < end
                        || entry.sizeBytes() > contentEnd - entry.offset()) {
                    throw new IOException(entry.name() + " at " + entry.offset() + ", " + entry.sizeBytes()
                            + " bytes (expected: inside " + end + ".." + contentEnd + ")");
                }
                end = entry.offset() + entry.sizeBytes();
                entries.add(entry);
            }
            int chunks = count(in, MAX_CHUNKS);
            if (chunks != Math.ceilDiv(contentEnd - PackHeader.BYTES, CHUNK_BYTES)) {
                throw new IOException(chunks + " checksums for " + contentEnd + " bytes");
            }
            List<Integer> checksums = new ArrayList<>();
            for (int i = 0; i < chunks; i++) {
                checksums.add(in.readInt());
            }
            return new PackIndex(identity, digest, folder, entries, checksums);
        }
    }

    static <E extends Enum<E>> E constant(E[] values, String name) throws IOException {
        for (E value : values) {
            if (value.name().equals(name)) {
                return value;
            }
        }
        throw new IOException("an unknown constant (expected: one of " + List.of(values) + ")");
    }

    private static int count(DataInputStream in, int most) throws IOException {
        int count = in.readInt();
        if (count < 0 || count > most) {
            throw new IOException(count + " items (expected: 0.." + most + ")");
        }
        return count;
    }
}
