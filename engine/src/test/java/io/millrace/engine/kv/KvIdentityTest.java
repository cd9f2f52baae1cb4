package io.millrace.engine.kv;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.millrace.engine.checkpoint.Checkpoint;
import io.millrace.engine.checkpoint.TestCheckpoints;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/// Against `kv/vectors.json`, which `kv/vectors.py` made without this code.
class KvIdentityTest {
    private static final JsonNode VECTORS = JsonMapper.shared()
            .readTree(TestCheckpoints.root()
                    .resolve("engine/src/test/resources/kv/vectors.json")
                    .toFile());

    @Test
    void namespacesMatchTheVectors() {
        assertThat(VECTORS.get("namespaces")).hasSize(3).allSatisfy(vector -> {
            BlockId namespace = KvNamespace.compute(
                    bytes(vector, "weightsDigest"),
                    bytes(vector, "adapterDigest"),
                    bytes(vector, "tenantSalt"),
                    vector.get("numericsId").stringValue(),
                    vector.get("layoutId").stringValue());
            assertThat(namespace).hasToString(vector.get("namespace").stringValue());
        });
    }

    @Test
    void chainsMatchTheVectors() {
        assertThat(VECTORS.get("chains")).hasSize(4).allSatisfy(vector -> {
            BlockId namespace = BlockId.fromHex(vector.get("namespace").stringValue());
            JsonNode tokens = vector.get("tokens");
            int[] ids = new int[tokens.size()];
            Arrays.setAll(ids, i -> tokens.get(i).intValue());
            List<String> expected =
                    vector.get("ids").valueStream().map(JsonNode::stringValue).toList();
            assertThat(BlockChain.ids(namespace, ids)).map(BlockId::toString).isEqualTo(expected);
        });
    }

    @Test
    void checksumsMatchTheVectors() {
        assertThat(VECTORS.get("checksums")).hasSize(3).allSatisfy(vector -> {
            byte[] id = bytes(vector, "blockId");
            int layer = vector.get("layer").intValue();
            byte[] data = bytes(vector, "data");
            int expected = HexFormat.fromHexDigits(vector.get("crc32c").stringValue());
            assertThat(BlockChecksum.crc32c(id, layer, data)).isEqualTo(expected);
            assertThat(BlockChecksum.crc32c(id, layer, MemorySegment.ofArray(data)))
                    .isEqualTo(expected);
        });
    }

    @Test
    void weightsDigestsMatchTheVectors() {
        assertThat(VECTORS.get("weights")).hasSize(4).allSatisfy(vector -> {
            String folder = vector.get("folder").stringValue();
            try (Checkpoint checkpoint = Checkpoint.open(TestCheckpoints.root().resolve(folder))) {
                assertThat(HexFormat.of().formatHex(checkpoint.weightsDigest()))
                        .isEqualTo(vector.get("digest").stringValue());
            }
        });
    }

    @Test
    void everyFieldChangesTheNamespace() {
        byte[] zero = new byte[32];
        byte[] one = new byte[32];
        one[31] = 1;
        assertThat(List.of(
                        KvNamespace.compute(zero, zero, zero, "n", "l"),
                        KvNamespace.compute(one, zero, zero, "n", "l"),
                        KvNamespace.compute(zero, one, zero, "n", "l"),
                        KvNamespace.compute(zero, zero, one, "n", "l"),
                        KvNamespace.compute(zero, zero, zero, "nl", ""),
                        KvNamespace.compute(zero, zero, zero, "", "nl")))
                .doesNotHaveDuplicates();
        assertThatThrownBy(() -> KvNamespace.compute(zero, new byte[31], zero, "n", "l"))
                .hasMessage("adapterDigest: 31 bytes (expected: 32)");
    }

    @Test
    void aBlockDependsOnAllTokensBeforeItsEndAndNoneAfter() {
        BlockId namespace = BlockId.of(new byte[32]);
        int[] tokens = new int[192];
        Arrays.setAll(tokens, i -> i);
        List<BlockId> ids = BlockChain.ids(namespace, tokens);
        tokens[64] = 7;
        List<BlockId> changed = BlockChain.ids(namespace, tokens);
        assertThat(changed.get(0)).isEqualTo(ids.get(0));
        assertThat(changed.get(1)).isNotEqualTo(ids.get(1));
        assertThat(changed.get(2)).isNotEqualTo(ids.get(2));
        assertThat(BlockChain.next(changed.get(0), tokens, 64)).isEqualTo(changed.get(1));
        assertThatThrownBy(() -> BlockChain.next(namespace, tokens, 129)).hasMessageContaining("block start: 129");
    }

    @Test
    void idsSurviveTheirByteAndHexForms() {
        byte[] bytes = new byte[32];
        for (int i = 0; i < 32; i++) {
            bytes[i] = (byte) (i * 9 + 130);
        }
        BlockId id = BlockId.of(bytes);
        assertThat(id.bytes()).isEqualTo(bytes);
        assertThat(id).hasToString(HexFormat.of().formatHex(bytes)).isEqualTo(BlockId.fromHex(id.toString()));
        assertThatThrownBy(() -> BlockId.of("short".getBytes(StandardCharsets.UTF_8)))
                .hasMessageContaining("5 bytes");
    }

    private static byte[] bytes(JsonNode vector, String key) {
        return HexFormat.of().parseHex(vector.get(key).stringValue());
    }
}
