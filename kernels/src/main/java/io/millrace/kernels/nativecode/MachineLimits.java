package io.millrace.kernels.nativecode;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.millrace.kernels.pool.KernelPool;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.function.DoubleBinaryOperator;
import java.util.function.ToDoubleFunction;

/// What the machine can do at most with some threads and an instruction set, measured in C: the yardstick
/// of kernels. Other load on the machine lowers it, so of several rounds the best counts, and beside it
/// the median.
///
/// @param isa      instruction set
/// @param threads  threads that measured together
/// @param best     of all rounds: what the machine can do
/// @param median   of them: what it does in a typical moment, beside whatever else uses it
/// @param meanReadBytesPerSecond  reading on the average of all rounds: what memory gives for longer than a moment
public record MachineLimits(IsaLevel isa, int threads, Speeds best, Speeds median, double meanReadBytesPerSecond) {
    private static final long READ_BYTES = 1L << 30;
    private static final int CHUNK_BYTES = 1 << 22;
    private static final int READ_CHUNKS = (int) (READ_BYTES / CHUNK_BYTES);
    private static final int PRODUCT_ROUNDS = 20_000;
    private static final int PRODUCT_CHUNKS_PER_THREAD = 16;
    private static final int REPEATS = 21;
    private static final int OPS_PER_PRODUCT = 2;
    private static final int ALIGNMENT = 4096;
    private static final double NANOS = 1e9;

    /// Measures, with 1 GiB of memory that is given back afterwards; takes about a second.
    ///
    /// @param threads  threads, the caller's included
    /// @param cap      instruction set; empty for the best of this processor
    /// @throws IllegalArgumentException if the processor lacks it
    public static MachineLimits measure(int threads, Optional<IsaLevel> cap) {
        NativeLibrary library = NativeLibrary.open(cap);
        try (KernelPool pool = new KernelPool(threads);
                Arena arena = Arena.ofShared()) {
            pool.start();
            // In large pages, as weights are; in small ones it would take seconds where a page is slow to get.
            MemorySegment data = LargePages.allocate(READ_BYTES, ALIGNMENT, arena);
            // Bytes that make ordinary floats, and codes other than zero.
            pool.run(
                    (chunk, worker) -> data.asSlice((long) chunk * CHUNK_BYTES, CHUNK_BYTES)
                            .fill((byte) 0x3f),
                    READ_CHUNKS);
            MemorySegment results =
                    arena.allocate((long) Math.max(READ_CHUNKS, threads * PRODUCT_CHUNKS_PER_THREAD) * Long.BYTES);
            MemorySegment call = arena.allocate(4L * Long.BYTES, Long.BYTES);
            call.set(JAVA_LONG, 0, data.address());
            call.set(JAVA_LONG, Long.BYTES, CHUNK_BYTES);
            call.set(JAVA_LONG, 2L * Long.BYTES, PRODUCT_ROUNDS);
            call.set(JAVA_LONG, 3L * Long.BYTES, results.address());
            Round round = new Round(library, pool, call);
            Times reading = round.times("limit_read", READ_CHUNKS);
            Times int8 = round.productTimes("limit_int8", threads);
            Times floats = round.productTimes("limit_float", threads);
            return new MachineLimits(
                    library.level(),
                    threads,
                    new Speeds(READ_BYTES / reading.best(), 1 / int8.best(), 1 / floats.best()),
                    new Speeds(READ_BYTES / reading.median(), 1 / int8.median(), 1 / floats.median()),
                    READ_BYTES / reading.mean());
        }
    }

    /// Reading of memory that no cache holds.
    public double readBytesPerSecond() {
        return best.readBytesPerSecond;
    }

    /// The same in the median round.
    public double medianReadBytesPerSecond() {
        return median.readBytesPerSecond;
    }

    /// int8 products and additions into int32, from registers.
    public double int8OpsPerSecond() {
        return best.int8OpsPerSecond;
    }

    /// float32 products and additions, from registers.
    public double floatOpsPerSecond() {
        return best.floatOpsPerSecond;
    }

    /// The limits of a typical moment: those of the median round in the place of the best.
    public MachineLimits typical() {
        return new MachineLimits(isa, threads, median, median, meanReadBytesPerSecond);
    }

    /// The higher of each limit: of two measurements the one that was disturbed less.
    public MachineLimits best(MachineLimits other) {
        return new MachineLimits(
                isa,
                threads,
                best.merge(other.best, Math::max),
                median.merge(other.median, Math::max),
                Math.max(meanReadBytesPerSecond, other.meanReadBytesPerSecond));
    }

    /// The limits around something that ran between measurements: the highest of each, the median of medians, and the
    /// average of averages.
    ///
    /// @param measured  one at least, with the same threads
    public static MachineLimits around(List<MachineLimits> measured) {
        MachineLimits best = measured.stream().reduce(MachineLimits::best).orElseThrow();
        return new MachineLimits(
                best.isa,
                best.threads,
                best.best,
                new Speeds(
                        medianOf(measured, Speeds::readBytesPerSecond),
                        medianOf(measured, Speeds::int8OpsPerSecond),
                        medianOf(measured, Speeds::floatOpsPerSecond)),
                measured.size()
                        / measured.stream()
                                .mapToDouble(one -> 1 / one.meanReadBytesPerSecond)
                                .sum());
    }

    private static double medianOf(List<MachineLimits> measured, ToDoubleFunction<Speeds> speed) {
        double[] sorted = measured.stream()
                .mapToDouble(one -> speed.applyAsDouble(one.median))
                .sorted()
                .toArray();
        return average(sorted[(sorted.length - 1) / 2], sorted[sorted.length / 2]);
    }

    /// What a round reached.
    ///
    /// @param readBytesPerSecond  reading of memory that no cache holds
    /// @param int8OpsPerSecond    int8 products and additions into int32, from registers
    /// @param floatOpsPerSecond   float32 products and additions, from registers
    public record Speeds(double readBytesPerSecond, double int8OpsPerSecond, double floatOpsPerSecond) {
        private Speeds merge(Speeds other, DoubleBinaryOperator by) {
            return new Speeds(
                    by.applyAsDouble(readBytesPerSecond, other.readBytesPerSecond),
                    by.applyAsDouble(int8OpsPerSecond, other.int8OpsPerSecond),
                    by.applyAsDouble(floatOpsPerSecond, other.floatOpsPerSecond));
        }
    }

    // Of two speeds over the same way.
    private static double average(double one, double other) {
        return 2 / (1 / one + 1 / other);
    }

    private record Times(double best, double mean, double median) {
        Times over(double amount) {
            return new Times(best / amount, mean / amount, median / amount);
        }
    }

    private record Round(NativeLibrary library, KernelPool pool, MemorySegment call) {
        /// Times of all chunks, in seconds.
        Times times(String function, int chunks) {
            MemorySegment code = library.function(function);
            long address = call.address();
            long[] nanos = new long[REPEATS];
            for (int i = 0; i < REPEATS; i++) {
                long started = System.nanoTime();
                pool.run((chunk, worker) -> NativeLibrary.run(code, true, address, chunk, worker), chunks);
                nanos[i] = System.nanoTime() - started;
            }
            Arrays.sort(nanos);
            double mean = Arrays.stream(nanos).average().orElseThrow();
            return new Times(nanos[0] / NANOS, mean / NANOS, nanos[REPEATS / 2] / NANOS);
        }

        /// Times of an operation, in seconds.
        Times productTimes(String function, int threads) {
            int chunks = threads * PRODUCT_CHUNKS_PER_THREAD;
            long products = NativeLibrary.ask(library.function(function + "_products"), call.address());
            return times(function, chunks).over((double) OPS_PER_PRODUCT * products * chunks);
        }
    }
}
