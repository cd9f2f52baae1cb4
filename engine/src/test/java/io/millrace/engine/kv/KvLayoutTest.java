package io.millrace.engine.kv;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.millrace.kernels.KvFormat;
import io.millrace.kernels.PagedRows;
import java.lang.foreign.MemorySegment;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class KvLayoutTest {
    private static final KvLayout.Shape SHAPE =
            new KvLayout.Shape(24, 8, 20, 10, new boolean[] {true, false, true}, true);

    @Test
    void sectionsAreLayersThenBoundaryState() {
        KvLayout layout = new KvLayout(SHAPE, KvFormat.BF16);
        assertThat(layout.sections()).isEqualTo(4);
        assertThat(layout.boundarySection()).isEqualTo(3);
        assertThat(layout.sectionBytes(0)).isEqualTo(64 * 2 * (32 + 20));
        assertThat(layout.sectionBytes(1)).isEqualTo(64 * 2 * 32);
        assertThat(layout.sectionBytes(2)).isEqualTo(64 * 2 * (32 + 20));
        assertThat(layout.sectionBytes(3)).isEqualTo(40);
        assertThat(layout.blockBytes()).isEqualTo(64L * 2 * (3 * 32 + 2 * 20) + 40);
    }

    @Test
    void sectionsStandOn64ByteBordersAndDoNotOverlap() {
        for (KvFormat format : KvFormat.values()) {
            KvLayout layout = new KvLayout(SHAPE, format);
            long end = 0;
            for (int section = 0; section < layout.sections(); section++) {
                assertThat(layout.sectionOffset(section)).isGreaterThanOrEqualTo(end);
                assertThat(layout.sectionOffset(section) % 64).isZero();
                end = layout.sectionOffset(section) + layout.sectionBytes(section);
            }
            assertThat(layout.pageBytes()).isGreaterThanOrEqualTo(end);
            assertThat(layout.pageBytes() % 64).isZero();
        }
    }

    /// Broken rows are found by any of their numbers: all elements, or in int8 all scales, and no code.
    @ParameterizedTest
    @EnumSource(KvFormat.class)
    void everyNumberOfASectionCounts(KvFormat format) {
        KvLayout layout = new KvLayout(SHAPE, format);
        for (int section = 0; section < layout.sections(); section++) {
            byte[] bytes = new byte[layout.sectionBytes(section)];
            boolean boundary = section == layout.boundarySection();
            int width = boundary || format != KvFormat.BF16 ? Float.BYTES : Short.BYTES;
            for (int at = 0; at < bytes.length; at += width) {
                bytes[at + width - 1] = (byte) 0xff;
                bytes[at + width - 2] = (byte) 0x80;
                boolean code = !boundary && format == KvFormat.INT8 && isCode(section, at);
                assertThat(layout.isFinite(section, bytes))
                        .as("byte %d of section %d", at, section)
                        .isEqualTo(code);
                bytes[at + width - 1] = 0;
                bytes[at + width - 2] = 0;
            }
            assertThat(layout.isFinite(section, bytes)).isTrue();
        }
    }

    private static boolean isCode(int section, int at) {
        int latentBytes = 64 * (32 + 8);
        int inPart = at < latentBytes ? at : at - latentBytes;
        return inPart < 64 * (at < latentBytes ? 32 : 20) && (at < latentBytes || section != 1);
    }

    @Test
    void indexKeysFollowTheLatentRowsOfTheirLayer() {
        KvLayout layout = new KvLayout(SHAPE, KvFormat.F32);
        PagedRows latent = layout.latent(MemorySegment.NULL, 2);
        PagedRows index = layout.index(MemorySegment.NULL, 2);
        assertThat(latent.sectionOffset()).isEqualTo(layout.sectionOffset(2));
        assertThat(index.sectionOffset()).isEqualTo(layout.sectionOffset(2) + 64 * 4 * 32);
        assertThat(latent.rowElements()).isEqualTo(32);
        assertThat(index.rowElements()).isEqualTo(20);
        assertThat(latent.pageBytes()).isEqualTo(layout.pageBytes());
    }

    @Test
    void aLayerWithoutAnIndexerHasNoIndexKeys() {
        KvLayout layout = new KvLayout(SHAPE, KvFormat.F32);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> layout.index(MemorySegment.NULL, 1))
                .withMessageContaining("FSF");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> layout.latent(MemorySegment.NULL, 3))
                .withMessageContaining("0..2");
    }

    @Test
    void theIdNamesEverythingThatDecidesTheBytes() {
        boolean[] owners = {true, false, true};
        Set<String> ids = new HashSet<>();
        ids.add(new KvLayout(SHAPE, KvFormat.BF16).layoutId());
        ids.add(new KvLayout(SHAPE, KvFormat.F32).layoutId());
        ids.add(new KvLayout(new KvLayout.Shape(23, 8, 20, 10, owners, true), KvFormat.BF16).layoutId());
        ids.add(new KvLayout(new KvLayout.Shape(24, 6, 20, 10, owners, true), KvFormat.BF16).layoutId());
        ids.add(new KvLayout(new KvLayout.Shape(24, 8, 21, 10, owners, true), KvFormat.BF16).layoutId());
        ids.add(new KvLayout(new KvLayout.Shape(24, 8, 20, 11, owners, true), KvFormat.BF16).layoutId());
        ids.add(new KvLayout(new KvLayout.Shape(24, 8, 20, 10, owners, false), KvFormat.BF16).layoutId());
        ids.add(new KvLayout(new KvLayout.Shape(24, 8, 20, 10, new boolean[] {true, true, true}, true), KvFormat.BF16)
                .layoutId());
        assertThat(ids).hasSize(8);
        assertThat(new KvLayout(SHAPE, KvFormat.BF16).layoutId())
                .isEqualTo("kv-pages-1;tokens=64;format=bf16;latent=24,rope=8,index=20,hidden=10,owners=FSF,mtp=1");
    }
}
