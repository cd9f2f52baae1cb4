package io.millrace.kvcache;

import com.google.protobuf.ByteString;
import io.millrace.engine.kv.BlockChecksum;
import io.millrace.proto.v1.BlockHeader;
import io.millrace.proto.v1.BlockSection;
import io.millrace.proto.v1.PutHeader;
import io.millrace.proto.v1.PutRequest;
import io.millrace.rpc.SectionSizes;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/// Made-up blocks of two sections.
final class Blocks {
    static final SectionSizes SIZES = SectionSizes.of(48, 16);
    static final ByteString NAMESPACE = id(200);

    private Blocks() {}

    static ByteString id(int number) {
        byte[] bytes = new byte[32];
        Arrays.fill(bytes, (byte) number);
        return ByteString.copyFrom(bytes);
    }

    static List<ByteString> chain(int length) {
        List<ByteString> ids = new ArrayList<>();
        for (int i = 0; i < length; i++) {
            ids.add(id(i + 1));
        }
        return ids;
    }

    static ByteString parent(List<ByteString> chain, int index) {
        return index == 0 ? NAMESPACE : chain.get(index - 1);
    }

    static byte[][] data(ByteString id, SectionSizes sizes) {
        byte[][] data = new byte[sizes.count()][];
        for (int i = 0; i < data.length; i++) {
            data[i] = new byte[sizes.bytes(i)];
            Arrays.fill(data[i], (byte) (id.byteAt(0) * 7 + i));
        }
        return data;
    }

    static PutRequest header(String lease, String holder, int... sectionBytes) {
        PutHeader.Builder header =
                PutHeader.newBuilder().setLeaseId(lease).setHolder(holder).setNamespace(NAMESPACE);
        for (int bytes : sectionBytes) {
            header.addSectionBytes(bytes);
        }
        return PutRequest.newBuilder().setHeader(header).build();
    }

    static PutRequest block(ByteString id, ByteString parent) {
        return PutRequest.newBuilder()
                .setBlock(BlockHeader.newBuilder().setId(id).setParentId(parent).setTokens(64))
                .build();
    }

    static PutRequest section(ByteString id, int layer, byte[] data, int crcFlip) {
        return PutRequest.newBuilder()
                .setSection(BlockSection.newBuilder()
                        .setBlockId(id)
                        .setLayer(layer)
                        .setData(ByteString.copyFrom(data))
                        .setCrc32C(BlockChecksum.crc32c(id.toByteArray(), layer, data) ^ crcFlip))
                .build();
    }
}
