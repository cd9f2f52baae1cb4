package io.millrace.engine.pack;

import io.millrace.kernels.Kernels;
import io.millrace.kernels.MatrixView;
import io.millrace.kernels.PackedMatrix;
import io.millrace.kernels.QuantFormat;
import io.millrace.kernels.ScaleAxis;
import io.millrace.kernels.WeightSource;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/// Packs the tensors of a plan: several threads read, round and pack, the calling one hands the results
/// to the sink in the order of the plan. Only as many batches are under way as there are threads, and
/// one more: memory holds a few matrices and never the model.
final class Packer {
    private static final long BATCH_ELEMENTS = 1 << 20;
    private static final int DIGEST_BYTES = 32;
    private static final int PROGRESS_STEPS = 200;
    private static final int ALIGNMENT = 64;

    private final PackPlan plan;
    private final WeightTensors tensors;
    private final Kernels kernels;
    private final int threads;

    Packer(PackPlan plan, WeightTensors tensors, Kernels kernels, int threads) {
        this.plan = plan;
        this.tensors = tensors;
        this.kernels = kernels;
        this.threads = threads;
    }

    private record Named(String name, PackedMatrix matrix) {}

    private record Batch(List<PackJob> jobs, List<Named> packed, Arena arena) implements AutoCloseable {
        @Override
        public void close() {
            arena.close();
        }
    }

    /// Packs everything.
    ///
    /// @return the digest of the weights, in hex
    String run(PackSink sink, PackProgress progress) throws IOException {
        List<List<PackJob>> batches = batches();
        ArrayDeque<Future<Batch>> running = new ArrayDeque<>();
        ExecutorService executor = Executors.newFixedThreadPool(
                threads, Thread.ofPlatform().daemon().name("millrace-pack-", 0).factory());
        try {
            Future<byte[]> digest = executor.submit(tensors::digest);
            int next = 0;
            int done = 0;
            while (next < batches.size() || !running.isEmpty()) {
                while (next < batches.size() && running.size() <= threads) {
                    List<PackJob> jobs = batches.get(next++);
                    running.add(executor.submit(() -> pack(jobs, sink)));
                }
                try (Batch batch = await(running.remove())) {
                    for (Named named : batch.packed()) {
                        sink.add(named.name(), named.matrix());
                    }
                    done = report(batch.jobs(), done, progress);
                }
            }
            byte[] bytes = await(digest);
            if (bytes.length != DIGEST_BYTES) {
                throw new IllegalStateException("weights digest of " + bytes.length + " bytes (expected: 32)");
            }
            return HexFormat.of().formatHex(bytes);
        } finally {
            abandon(running);
            executor.shutdownNow();
            executor.close();
        }
    }

    private List<List<PackJob>> batches() {
        List<List<PackJob>> batches = new ArrayList<>();
        List<PackJob> open = new ArrayList<>();
        long elements = 0;
        for (PackJob job : plan.jobs()) {
            open.add(job);
            elements += job.elements();
            if (elements >= BATCH_ELEMENTS) {
                batches.add(open);
                open = new ArrayList<>();
                elements = 0;
            }
        }
        if (!open.isEmpty()) {
            batches.add(open);
        }
        return batches;
    }

    // Often enough for a bar, whatever the number of tensors.
    private int report(List<PackJob> jobs, int before, PackProgress progress) {
        int total = plan.jobs().size();
        int done = before + jobs.size();
        if ((long) before * PROGRESS_STEPS / total != (long) done * PROGRESS_STEPS / total || done == total) {
            progress.packed(jobs.getLast().section(), done, total);
        }
        return done;
    }

    @SuppressWarnings("MustBeClosedChecker") // closed with the batch, or here if packing fails
    private Batch pack(List<PackJob> jobs, PackSink sink) {
        Arena arena = Arena.ofShared();
        boolean packed = false;
        try {
            List<Named> result = new ArrayList<>();
            for (PackJob job : jobs) {
                pack(job, arena, sink.packingArena(arena), result);
            }
            packed = true;
            return new Batch(jobs, result, arena);
        } finally {
            if (!packed) {
                arena.close();
            }
        }
    }

    private void pack(PackJob job, Arena temporary, Arena target, List<Named> result) {
        switch (job) {
            case PackJob.Matrix matrix -> pack(matrix, temporary, target, result);
            case PackJob.Rows rows -> result.add(rows(rows.spec(), temporary, target));
            case PackJob.Vector vector -> result.add(vector(vector.spec(), temporary, target));
        }
    }

    private void pack(PackJob.Matrix job, Arena temporary, Arena target, List<Named> result) {
        MatrixSpec spec = job.spec();
        WeightSource source = MatrixConversion.convert(spec, tensors.matrix(spec, temporary), temporary);
        for (MatrixPart part : job.parts()) {
            WeightSource rows = source.rowRange(part.fromRow(), part.rows());
            WeightSource cut = part.transposed() ? rows.transposed() : rows;
            result.add(new Named(part.entryName(spec), kernels.pack(cut, target)));
        }
    }

    private Named rows(MatrixSpec spec, Arena temporary, Arena target) {
        WeightSource source = MatrixConversion.convert(spec, tensors.matrix(spec, temporary), temporary);
        if (!(source instanceof MatrixView matrix)
                || matrix.columnStride() != 1
                || matrix.rowStride() != matrix.columns()) {
            throw new IllegalStateException(spec.name() + " (expected: floats, row after row)");
        }
        QuantFormat format = matrix.format();
        long bytes = (long) matrix.rows() * matrix.columns() * format.elementBytes();
        MemorySegment copy = target.allocate(bytes, ALIGNMENT);
        MemorySegment.copy(matrix.data(), matrix.offset() * format.elementBytes(), copy, 0, bytes);
        return new Named(
                spec.name(),
                new PackedMatrix(
                        format,
                        matrix.rows(),
                        matrix.columns(),
                        matrix.columns(),
                        ScaleAxis.OUTPUT,
                        PackPlan.ROWS_LAYOUT,
                        copy));
    }

    private Named vector(VectorSpec spec, Arena temporary, Arena target) {
        long bytes = (long) spec.size() * Float.BYTES;
        MemorySegment source = tensors.vector(spec, temporary);
        if (source.byteSize() != bytes) {
            throw new IllegalStateException(
                    spec.name() + ": " + source.byteSize() + " bytes (expected: " + bytes + ")");
        }
        MemorySegment copy = target.allocate(bytes, ALIGNMENT).copyFrom(source);
        return new Named(spec.name(), new PackedMatrix(QuantFormat.F32, 1, spec.size(), PackPlan.VECTOR_LAYOUT, copy));
    }

    private static <T> T await(Future<T> future) throws IOException {
        try {
            return future.get();
        } catch (ExecutionException e) {
            switch (e.getCause()) {
                case RuntimeException thrown -> throw thrown;
                case Error error -> throw error;
                case null, default -> throw new IOException("packing failed", e.getCause());
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("packing was interrupted", e);
        }
    }

    // What was packed and is not wanted any more gives its memory back.
    @SuppressWarnings("EmptyCatch")
    private static void abandon(ArrayDeque<Future<Batch>> running) {
        boolean interrupted = Thread.interrupted();
        for (Future<Batch> batch : running) {
            try {
                batch.get().close();
            } catch (ExecutionException e) {
                // It has closed its arena itself, and the first failure is on its way.
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
