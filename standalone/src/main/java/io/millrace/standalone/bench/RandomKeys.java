package io.millrace.standalone.bench;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_SHORT_UNALIGNED;

import io.millrace.engine.checkpoint.ModelConfig;
import io.millrace.engine.kv.PagePool;
import io.millrace.kernels.Bfloat16;
import io.millrace.kernels.KvFormat;
import io.millrace.kernels.PagedRows;
import java.util.SplittableRandom;

/// Fills cached rows with random keys of size 1, so that a depth need not be computed.
final class RandomKeys {
    private static final int LEVELS = 255;
    private static final int MAX_CODE = 127;
    private static final float SPREAD = (float) Math.sqrt(12);

    private final PagePool pool;
    private final SplittableRandom random = new SplittableRandom(1);

    RandomKeys(PagePool pool) {
        this.pool = pool;
    }

    /// Fills the first slots of a sequence in all layers.
    void fill(ModelConfig config, int[] pages, int slots) {
        for (int layer = 0; layer < config.layers() + config.mtpLayers(); layer++) {
            fill(pool.layout().latent(pool.memory(), layer), pages, slots);
            if (config.ownsIndexer(layer)) {
                fill(pool.layout().index(pool.memory(), layer), pages, slots);
            }
        }
    }

    private void fill(PagedRows rows, int[] pages, int slots) {
        for (int slot = 0; slot < slots; slot++) {
            long at = rows.rowOffset(pages, slot);
            for (int i = 0; i < rows.rowElements(); i++) {
                int drawn = random.nextInt(LEVELS) - MAX_CODE;
                float value = drawn * (SPREAD / LEVELS);
                switch (rows.format()) {
                    case INT8 -> rows.pool().set(JAVA_BYTE, at + i, (byte) drawn);
                    case BF16 -> rows.pool().set(JAVA_SHORT_UNALIGNED, at + 2L * i, Bfloat16.round(value));
                    case F32 -> rows.pool().set(JAVA_FLOAT_UNALIGNED, at + 4L * i, value);
                }
            }
            if (rows.format() == KvFormat.INT8) {
                long scales = rows.scaleOffset(pages, slot);
                for (int part = 0; part < rows.parts(); part++) {
                    rows.pool().set(JAVA_FLOAT_UNALIGNED, scales + 4L * part, SPREAD / LEVELS);
                }
            }
        }
    }
}
