package io.millrace.kernels.vector;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import io.millrace.kernels.pool.KernelPool;
import io.millrace.kernels.pool.PoolTask;
import io.millrace.kernels.sampling.NoiseBounds;
import io.millrace.kernels.sampling.SamplingBatch;
import io.millrace.kernels.sampling.SamplingCandidates;
import io.millrace.kernels.sampling.SamplingSlices;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;

/// Sampling over the vocabulary: all slices are scanned, each row is ranked, then the slices of rows that want sums or
/// contenders are weighed beside their row's maximum.
final class SamplingRows implements PoolTask {
    private static final int SLICES_PER_CHUNK = 4;

    private enum Stage {
        SCAN,
        RANK,
        WEIGH
    }

    private final KernelPool pool;
    private final Scratch.Buffer maxima;
    private final Scratch.Buffer recordBuffer;
    private final Worker[] workers;
    private int[] invalid = new int[0];
    private boolean[] weighed = new boolean[0];
    private float[] floors = new float[0];
    private MemorySegment records = MemorySegment.NULL;
    private Stage stage = Stage.SCAN;
    private SamplingBatch batch = new SamplingBatch(0, 1);
    private SamplingCandidates found = new SamplingCandidates(0);
    private long logits;
    private int vocabSize;
    private int slices;
    private int chunksOfRow;

    SamplingRows(KernelPool pool, Scratch scratch) {
        this.pool = pool;
        maxima = scratch.buffer();
        recordBuffer = scratch.buffer();
        workers = new Worker[pool.threads()];
        for (int i = 0; i < workers.length; i++) {
            workers[i] = new Worker(scratch);
        }
    }

    /// Samples all rows.
    void run(long rowsOfLogits, SamplingBatch asked, SamplingCandidates result) {
        logits = rowsOfLogits;
        batch = asked;
        found = result;
        reserve();
        stage = Stage.SCAN;
        int rows = batch.rows();
        pool.run(this, rows * chunksOfRow);
        stage = Stage.RANK;
        pool.run(this, rows);
        boolean any = false;
        for (int row = 0; row < rows; row++) {
            any |= weighed[row];
        }
        if (!any) {
            return;
        }
        stage = Stage.WEIGH;
        pool.run(this, rows * chunksOfRow);
        for (int row = 0; row < rows; row++) {
            if (weighed[row]) {
                SamplingSlices.join(records, batch, row, found);
            }
        }
    }

    private void reserve() {
        vocabSize = batch.vocabSize();
        slices = SamplingSlices.count(vocabSize);
        chunksOfRow = Math.ceilDiv(slices, SLICES_PER_CHUNK);
        long all = (long) batch.rows() * slices;
        maxima.reserve(all * SamplingSlices.BLOCKS);
        long recordBytes = all * SamplingSlices.BYTES;
        records = Lanes.ALL.asSlice(recordBuffer.floats(recordBytes / Float.BYTES), recordBytes);
        if (invalid.length < all) {
            invalid = new int[Math.toIntExact(all)];
        }
        if (weighed.length < batch.rows()) {
            weighed = new boolean[batch.maxRows()];
            floors = new float[batch.maxRows()];
        }
        for (Worker worker : workers) {
            worker.reserve();
        }
    }

    @Override
    public void run(int chunk, int worker) {
        if (stage == Stage.RANK) {
            rank(chunk, workers[worker]);
            return;
        }
        int row = chunk / chunksOfRow;
        int first = chunk % chunksOfRow * SLICES_PER_CHUNK;
        for (int slice = first; slice < Math.min(first + SLICES_PER_CHUNK, slices); slice++) {
            if (stage == Stage.SCAN) {
                scan(row, slice);
            } else if (weighed[row]) {
                weigh(row, slice, workers[worker]);
            }
        }
    }

    private long row(int row) {
        return logits + (long) row * vocabSize * 4;
    }

    private long maxima(int row, int slice) {
        return maxima.floats(0) + ((long) row * slices + slice) * SamplingSlices.BLOCKS * 4;
    }

    private void scan(int row, int slice) {
        long x = row(row);
        long to = maxima(row, slice);
        int end = Math.min(vocabSize, (slice + 1) * SamplingSlices.SLICE);
        int firstInvalid = -1;
        for (int from = slice * SamplingSlices.SLICE; from < end; from += SamplingSlices.BLOCK, to += 4) {
            int tokens = Math.min(SamplingSlices.BLOCK, end - from);
            float max = SliceLoops.largest(x + from * 4L, tokens);
            // A NaN is larger than all: both kinds of invalid logits show in the maximum.
            if (!(max < Float.POSITIVE_INFINITY) && firstInvalid < 0) {
                firstInvalid = from;
                while (Lanes.get(x + firstInvalid * 4L) < Float.POSITIVE_INFINITY) {
                    firstInvalid++;
                }
            }
            Lanes.set(to, max);
        }
        invalid[row * slices + slice] = firstInvalid;
    }

    private void rank(int row, Worker worker) {
        weighed[row] = false;
        for (int slice = 0; slice < slices; slice++) {
            if (invalid[row * slices + slice] >= 0) {
                found.reject(row, invalid[row * slices + slice]);
                return;
            }
        }
        worker.findBest(row(row), vocabSize, maxima(row, 0), batch.candidates(row));
        found.rank(row, batch.candidates(row), worker.ids, worker.best);
        if (!batch.weighs(row) || found.logit(row, 0) == Float.NEGATIVE_INFINITY) {
            return;
        }
        weighed[row] = true;
        if (batch.wantsNoise(row)) {
            int best = found.id(row, 0);
            batch.words(row, best >>> 2, worker.words);
            floors[row] = NoiseBounds.lower(worker.words[best & 3]);
        }
    }

    private void weigh(int row, int slice, Worker worker) {
        long record = ((long) row * slices + slice) * SamplingSlices.BYTES;
        int from = slice * SamplingSlices.SLICE;
        int tokens = Math.min(SamplingSlices.SLICE, vocabSize - from);
        long x = row(row) + from * 4L;
        float max = found.logit(row, 0);
        float temperature = batch.temperature(row);
        long scaled = worker.scaled.floats(0);
        if (batch.wantsLogitSum(row) && temperature != 1) {
            SliceLoops.scale(x, tokens, max, 1, scaled);
            records.set(JAVA_FLOAT, record + SamplingSlices.LOGIT_SUM, worker.sum(tokens));
        }
        SliceLoops.scale(x, tokens, max, temperature, scaled);
        if (batch.wantsNoise(row)) {
            worker.contend(batch, row, from, tokens, floors[row]);
            worker.write(records, record);
        }
        if (batch.wantsScaledSum(row) || (batch.wantsLogitSum(row) && temperature == 1)) {
            float sum = worker.sum(tokens);
            records.set(JAVA_FLOAT, record + SamplingSlices.SCALED_SUM, sum);
            if (temperature == 1) {
                records.set(JAVA_FLOAT, record + SamplingSlices.LOGIT_SUM, sum);
            }
        }
    }

    /// Scratch of one thread.
    private static final class Worker {
        private final TopSlots top = new TopSlots();
        private final Scratch.Buffer scaled;
        private final Scratch.Buffer noise;
        private final Scratch.Buffer offered;
        private final int[] words = new int[4];
        private int[] offeredIds = new int[0];
        private long[] keys = new long[0];
        private int[] ids = new int[0];
        private float[] best = new float[0];
        private int[] contenders = new int[0];
        private float[] tops = new float[0];
        private int contending;
        private float floor;

        Worker(Scratch scratch) {
            scaled = scratch.buffer();
            noise = scratch.buffer();
            offered = scratch.buffer();
        }

        private void reserve() {
            scaled.reserve(SamplingSlices.SLICE);
            noise.reserve(2L * SamplingSlices.BLOCK);
            offered.reserve((long) SamplingBatch.MAX_CANDIDATES * SamplingSlices.BLOCK);
            if (ids.length == 0) {
                offeredIds = new int[SamplingBatch.MAX_CANDIDATES * SamplingSlices.BLOCK];
                keys = new long[SamplingBatch.MAX_CANDIDATES];
                ids = new int[SamplingBatch.MAX_CANDIDATES];
                best = new float[SamplingBatch.MAX_CANDIDATES];
                contenders = new int[SamplingSlices.SLICE];
                tops = new float[SamplingSlices.SLICE];
            }
        }

        /// Finds the best tokens, in order. They lie in the blocks of as many best maxima, ties to the lower block:
        /// before a token of another block come the tokens of all these maxima.
        private void findBest(long x, int vocabSize, long maxima, int wanted) {
            int blocks = Math.ceilDiv(vocabSize, SamplingSlices.BLOCK);
            if (wanted == 1) {
                ids[0] = firstLargest(x, maxima, blocks);
                best[0] = Lanes.get(x + ids[0] * 4L);
                return;
            }
            int chosen = Math.min(wanted, blocks);
            top.choose(maxima, blocks, chosen, 0);
            float least = Float.NEGATIVE_INFINITY;
            if (wanted <= blocks) {
                least = Float.POSITIVE_INFINITY;
                for (int i = 0; i < chosen; i++) {
                    least = Math.min(least, Lanes.get(maxima + top.slots()[i] * 4L));
                }
            }
            long to = offered.floats(0);
            int count = 0;
            for (int i = 0; i < chosen; i++) {
                int from = top.slots()[i] * SamplingSlices.BLOCK;
                int end = Math.min(vocabSize, from + SamplingSlices.BLOCK);
                for (int id = from; id < end; id++) {
                    float logit = Lanes.get(x + id * 4L);
                    if (logit >= least) {
                        Lanes.set(to + count * 4L, logit);
                        offeredIds[count++] = id;
                    }
                }
            }
            top.choose(to, count, wanted, 0);
            for (int i = 0; i < wanted; i++) {
                int slot = top.slots()[i];
                keys[i] = (long) ~ordered(Lanes.get(to + slot * 4L)) << 32 | offeredIds[slot];
            }
            Arrays.sort(keys, 0, wanted);
            for (int i = 0; i < wanted; i++) {
                ids[i] = (int) keys[i];
                best[i] = Lanes.get(x + ids[i] * 4L);
            }
        }

        private static int firstLargest(long x, long maxima, int blocks) {
            int block = 0;
            for (int b = 1; b < blocks; b++) {
                if (Lanes.get(maxima + b * 4L) > Lanes.get(maxima + block * 4L)) {
                    block = b;
                }
            }
            int id = block * SamplingSlices.BLOCK;
            while (Lanes.get(x + id * 4L) < Lanes.get(maxima + block * 4L)) {
                id++;
            }
            return id;
        }

        /// A signed integer of the order of the floats, both zeros equal.
        private static int ordered(float x) {
            int bits = Float.floatToRawIntBits(x + 0f);
            return bits < 0 ? bits ^ 0x7fffffff : bits;
        }

        /// The sum of the exponentials of the scaled logits, which it overwrites.
        private float sum(int tokens) {
            long x = scaled.floats(0);
            int whole = Math.ceilDiv(tokens, SamplingSlices.BLOCK) * SamplingSlices.BLOCK;
            SliceLoops.exponentials(x, whole);
            long lanes = noise.floats(0);
            SliceLoops.sumBlocks(x, whole, lanes);
            for (int half = SliceLoops.LANES / 2; half > 0; half /= 2) {
                for (int lane = 0; lane < half; lane++) {
                    Lanes.set(lanes + lane * 4L, Lanes.get(lanes + lane * 4L) + Lanes.get(lanes + (lane + half) * 4L));
                }
            }
            return Lanes.get(lanes);
        }

        /// Finds the tokens whose scaled logit plus upper noise is above the floor, which it raises.
        private void contend(SamplingBatch batch, int row, int firstId, int tokens, float rowFloor) {
            floor = rowFloor;
            contending = 0;
            long wordsAt = noise.floats(0);
            long topsAt = wordsAt + SamplingSlices.BLOCK * 4L;
            for (int from = 0; from < tokens; from += SamplingSlices.BLOCK) {
                long x = scaled.floats(0) + from * 4L;
                if (!(SliceLoops.largest(x, SamplingSlices.BLOCK) + NoiseBounds.LARGEST > floor)) {
                    continue;
                }
                NoiseWords.fill(batch, row, firstId + from, SamplingSlices.BLOCK, wordsAt);
                SliceLoops.addUpperNoise(wordsAt, x, topsAt);
                if (SliceLoops.largest(topsAt, SamplingSlices.BLOCK) > floor) {
                    take(firstId + from, x, wordsAt, topsAt);
                }
            }
        }

        private void take(int firstId, long x, long wordsAt, long topsAt) {
            for (int i = 0; i < SamplingSlices.BLOCK; i++) {
                float sum = Lanes.get(topsAt + i * 4L);
                if (sum > floor) {
                    contenders[contending] = firstId + i;
                    tops[contending++] = sum;
                    int word = Float.floatToRawIntBits(Lanes.get(wordsAt + i * 4L));
                    floor = Math.max(floor, Lanes.get(x + i * 4L) + NoiseBounds.lower(word));
                }
            }
        }

        private void write(MemorySegment records, long record) {
            int count = 0;
            for (int i = 0; i < contending; i++) {
                if (tops[i] > floor) {
                    if (count < SamplingSlices.MAX_CONTENDERS) {
                        records.set(JAVA_INT, record + SamplingSlices.IDS + count * 4L, contenders[i]);
                        records.set(JAVA_FLOAT, record + SamplingSlices.TOPS + count * 4L, tops[i]);
                    }
                    count++;
                }
            }
            records.set(JAVA_FLOAT, record + SamplingSlices.FLOOR, floor);
            records.set(JAVA_INT, record + SamplingSlices.CONTENDERS, count);
        }
    }
}
