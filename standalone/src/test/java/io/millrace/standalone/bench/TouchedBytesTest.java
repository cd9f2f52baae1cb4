package io.millrace.standalone.bench;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.kernels.AttentionRows;
import io.millrace.kernels.ExpertGating;
import io.millrace.kernels.GatedMlpWeights;
import io.millrace.kernels.IndexerProlog;
import io.millrace.kernels.IndexerWeights;
import io.millrace.kernels.KvFormat;
import io.millrace.kernels.MatrixView;
import io.millrace.kernels.MlaForm;
import io.millrace.kernels.MoeWeights;
import io.millrace.kernels.PackedMatrix;
import io.millrace.kernels.PagedRows;
import io.millrace.kernels.QuantFormat;
import io.millrace.kernels.RopeStyle;
import io.millrace.kernels.RoutedExperts;
import io.millrace.kernels.RowBatch;
import io.millrace.kernels.Selection;
import io.millrace.kernels.scalar.ScalarKernels;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/// What rows share counts once.
class TouchedBytesTest {
    private static final int EXPERTS = 4;

    private final Arena arena = Arena.ofShared();
    private final ScalarKernels kernels = new ScalarKernels();
    private final TouchedBytes touched = new TouchedBytes(3, EXPERTS);

    @AfterEach
    void release() {
        touched.close();
        kernels.close();
        arena.close();
    }

    private PackedMatrix matrix(int rows, int columns, float... values) {
        MemorySegment data = floats(rows * columns);
        MemorySegment.copy(values, 0, data, JAVA_FLOAT, 0, values.length);
        return kernels.pack(MatrixView.rowMajor(QuantFormat.F32, data, rows, columns), arena);
    }

    // The same matrix with so many floats behind it: experts have one shape, their bytes should tell them apart.
    private PackedMatrix longer(PackedMatrix m, int spare) {
        MemorySegment data = floats(Math.toIntExact(m.data().byteSize() / Float.BYTES) + spare);
        data.copyFrom(m.data());
        return new PackedMatrix(m.format(), m.outFeatures(), m.inFeatures(), m.layout(), data);
    }

    private MemorySegment floats(int count) {
        return arena.allocate((long) count * Float.BYTES, 64);
    }

    // The gate hands the input on, so that a row chooses the experts where it is largest.
    private MoeWeights experts(float... bias) {
        List<GatedMlpWeights> experts = new ArrayList<>();
        for (int e = 0; e < EXPERTS; e++) {
            int spare = 1 << e;
            experts.add(new GatedMlpWeights(
                    longer(matrix(1, EXPERTS), spare), longer(matrix(1, EXPERTS), spare), matrix(EXPERTS, 1)));
        }
        MemorySegment correction = floats(EXPERTS);
        MemorySegment.copy(bias, 0, correction, JAVA_FLOAT, 0, bias.length);
        PackedMatrix gate = matrix(EXPERTS, EXPERTS, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1);
        return new MoeWeights(
                new ExpertGating(EXPERTS, 2, 1, 1, true, 1),
                gate,
                correction,
                RoutedExperts.of("expert ", experts),
                experts.getFirst());
    }

    private static long bytes(MoeWeights weights, int expert) {
        GatedMlpWeights e = weights.experts().get(expert);
        return e.gate().data().byteSize()
                + e.up().data().byteSize()
                + e.down().data().byteSize();
    }

    @Test
    void anExpertThatSeveralRowsChooseCountsOnce() {
        MoeWeights weights = experts();
        MemorySegment x = floats(3 * EXPERTS);
        MemorySegment.copy(new float[] {3, 2, 0, 1, 3, 0, 1, 2, 1, 3, 0, 0}, 0, x, JAVA_FLOAT, 0, 3 * EXPERTS);
        touched.experts(kernels, weights, x, 1);
        assertThat(touched.bytes()).isEqualTo(bytes(weights, 0) + bytes(weights, 1));
        // Rows choose 0 and 1, 0 and 3, 0 and 1.
        touched.experts(kernels, weights, x, 3);
        assertThat(touched.bytes()).isEqualTo(2 * (bytes(weights, 0) + bytes(weights, 1)) + bytes(weights, 3));
    }

    @Test
    void theCorrectionBiasChooses() {
        MoeWeights weights = experts(0, 0, 5, 0);
        MemorySegment x = floats(EXPERTS);
        MemorySegment.copy(new float[] {3, 2, 0, 1}, 0, x, JAVA_FLOAT, 0, EXPERTS);
        touched.experts(kernels, weights, x, 1);
        assertThat(touched.bytes()).isEqualTo(bytes(weights, 0) + bytes(weights, 2));
    }

    private static RowBatch rows(int firstSlot, int count) {
        RowBatch batch = new RowBatch(3, 1);
        batch.clear(0);
        int sequence = batch.addSequence(new int[] {0, 1});
        for (int i = 0; i < count; i++) {
            batch.addRow(sequence, firstSlot + i);
        }
        return batch;
    }

    @Test
    void aKeyThatSeveralRowsReadCountsOnce() {
        PagedRows latent = new PagedRows(floats(1), 1, 0, 96, 64, KvFormat.INT8);
        AttentionRows input = new AttentionRows(MlaForm.ABSORBED, floats(1), latent);
        Selection selection = new Selection(3, 4);
        selection.firstSlot(0);
        selection.select(0, new int[] {1, 3, 5, 90}, 4);
        selection.select(1, new int[] {3, 5, 90, 91}, 4);
        selection.selectAll(2, 3);
        touched.latents(input, rows(90, 2), selection);
        // 1, 3, 5, 90, 91
        assertThat(touched.bytes()).isEqualTo(5 * (96 + 2 * 4));
        touched.latents(input, rows(90, 3), selection);
        // and 0, 2
        assertThat(touched.bytes()).isEqualTo((5 + 7) * (96 + 2 * 4));
    }

    @Test
    void indexKeysCountWhereARowSeesMoreThanItSelects() {
        PackedMatrix some = matrix(1, 1, 1);
        IndexerWeights weights =
                new IndexerWeights(1, 64, 91, RopeStyle.INTERLEAVED, some, some, floats(64), floats(64), some);
        PagedRows keys = new PagedRows(floats(1), 1, 0, 64, KvFormat.BF16);
        IndexerProlog indexer = new IndexerProlog(weights, keys, floats(64), floats(1));
        touched.indexKeys(indexer, rows(89, 2));
        assertThat(touched.bytes()).isZero();
        touched.indexKeys(indexer, rows(89, 3));
        assertThat(touched.bytes()).isEqualTo(92 * 64 * 2);
    }
}
