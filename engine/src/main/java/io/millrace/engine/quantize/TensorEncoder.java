package io.millrace.engine.quantize;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import io.millrace.engine.checkpoint.Checkpoint;
import io.millrace.engine.checkpoint.IntegerWeights;
import io.millrace.engine.profile.WeightProfile;
import io.millrace.kernels.Bfloat16;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/// Folds and rounds single tensors. Thread-safe.
final class TensorEncoder {
    private static final int ALIGNMENT = 64;
    private static final int NIBBLE_BITS = 4;
    private static final int CODE_OFFSET = 8;

    private final Checkpoint checkpoint;
    private final WeightFolds folds;
    private final ScaleSearch scales;
    private final InputMoments moments;

    TensorEncoder(Checkpoint checkpoint, WeightFolds folds, ScaleSearch scales, InputMoments moments) {
        this.checkpoint = checkpoint;
        this.folds = folds;
        this.scales = scales;
        this.moments = moments;
    }

    /// One matrix being rounded.
    private final class Work {
        private final FloatRows rows;
        private final List<MemorySegment> out;
        private final float @Nullable [] inputs;
        private final float[] row;
        private final byte[] codes;
        private double error;
        private double energy;

        Work(FloatRows rows, List<MemorySegment> out, float @Nullable [] inputs) {
            this.rows = rows;
            this.out = out;
            this.inputs = inputs;
            this.row = new float[rows.columns()];
            this.codes = new byte[rows.columns()];
        }

        private void count(int from, int to, float scale) {
            for (int i = from; i < to; i++) {
                double weight = inputs == null ? 1 : inputs[i];
                double off = row[i] - codes[i] * scale;
                error += off * off * weight;
                energy += (double) row[i] * row[i] * weight;
            }
        }

        void floats() {
            for (int r = 0; r < rows.rows(); r++) {
                rows.copyRow(r, row);
                MemorySegment.copy(row, 0, out.getFirst(), JAVA_FLOAT, (long) r * row.length * Float.BYTES, row.length);
            }
        }

        void halves() {
            for (int r = 0; r < rows.rows(); r++) {
                rows.copyRow(r, row);
                for (int i = 0; i < row.length; i++) {
                    out.getFirst().setAtIndex(JAVA_SHORT, (long) r * row.length + i, Bfloat16.round(row[i]));
                }
            }
        }

        void int8() {
            for (int r = 0; r < rows.rows(); r++) {
                rows.copyRow(r, row);
                float scale = scales.int8(row, inputs, codes);
                count(0, row.length, scale);
                MemorySegment.copy(codes, 0, out.get(0), JAVA_BYTE, (long) r * row.length, row.length);
                out.get(1).setAtIndex(JAVA_FLOAT, r, scale);
            }
        }

        void int4() {
            int group = WeightProfile.INT4_GROUP;
            int groups = Math.ceilDiv(row.length, group);
            for (int r = 0; r < rows.rows(); r++) {
                rows.copyRow(r, row);
                for (int g = 0; g < groups; g++) {
                    int from = g * group;
                    int to = Math.min(row.length, from + group);
                    float scale = scales.int4(row, from, to, inputs, codes);
                    count(from, to, scale);
                    out.get(1).setAtIndex(JAVA_SHORT, (long) r * groups + g, Bfloat16.round(scale));
                }
                packNibbles(r);
            }
            out.get(2).setAtIndex(JAVA_LONG, 0, rows.rows());
            out.get(2).setAtIndex(JAVA_LONG, 1, rows.columns());
        }

        private void packNibbles(int r) {
            long words = Math.ceilDiv(row.length, IntegerWeights.PER_WORD);
            for (int w = 0; w < words; w++) {
                int word = 0;
                for (int i = 0; i < IntegerWeights.PER_WORD; i++) {
                    int column = w * IntegerWeights.PER_WORD + i;
                    int code = column < row.length ? codes[column] : 0;
                    word |= (code + CODE_OFFSET) << (i * NIBBLE_BITS);
                }
                out.getFirst().setAtIndex(JAVA_INT, r * words + w, word);
            }
        }
    }

    /// Makes what is written for an entry.
    @SuppressWarnings("MustBeClosedChecker") // the arena is the result's and closes with it
    EncodedTensor encode(TensorPlan.Entry entry) {
        Arena arena = Arena.ofShared();
        boolean encoded = false;
        try (Arena source = Arena.ofShared()) {
            List<MemorySegment> out = new ArrayList<>();
            for (StoredTensor tensor : entry.stored()) {
                out.add(arena.allocate(tensor.sizeBytes(), ALIGNMENT));
            }
            EncodedTensor result;
            if (entry.vector()) {
                MemorySegment.copy(folds.vector(entry.name()), 0, out.getFirst(), JAVA_FLOAT, 0, entry.columns());
                result = new EncodedTensor(arena, out, 0, 0);
            } else {
                FloatRows rows = folds.of(entry.name()).apply(checkpoint.matrix(entry.name(), source));
                Work work = new Work(rows, out, moments.of(entry.name()));
                switch (entry.format()) {
                    case F32 -> work.floats();
                    case BF16 -> work.halves();
                    case W8A8 -> work.int8();
                    case W4A8 -> work.int4();
                }
                result = new EncodedTensor(arena, out, work.error, work.energy);
            }
            encoded = true;
            return result;
        } finally {
            if (!encoded) {
                arena.close();
            }
        }
    }
}
