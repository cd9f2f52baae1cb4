package io.millrace.engine.quantize;

import io.millrace.engine.checkpoint.Checkpoint;
import io.millrace.engine.checkpoint.WeightRotation;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;

/// Writes the files of a new checkpoint. Tensors are encoded by one thread per processor, a few ahead of
/// the one being written.
final class CheckpointOutput {
    private static final int AHEAD = 2;

    private final Checkpoint checkpoint;
    private final QuantizeSettings settings;
    private final Path directory;
    private final List<TensorPlan.Entry> plan;

    /// Sums over the matrices of a layer.
    private static final class Sums {
        private int matrices;
        private double relative;
    }

    /// @param directory  empty
    CheckpointOutput(Checkpoint checkpoint, QuantizeSettings settings, Path directory) {
        this.checkpoint = checkpoint;
        this.settings = settings;
        this.directory = directory;
        this.plan = TensorPlan.of(checkpoint, settings.profile());
    }

    /// Writes the tensors. The report has no losses yet.
    QuantizeReport write(TensorEncoder encoder, @Nullable WeightRotation rotation, QuantizeProgress progress)
            throws IOException {
        Map<String, Sums> layers = new LinkedHashMap<>();
        int asked = settings.kernels().threads();
        int threads = asked == 0 ? Runtime.getRuntime().availableProcessors() : asked;
        try (ShardWriter writer = writer();
                ExecutorService encoders = Executors.newFixedThreadPool(threads)) {
            Deque<Future<EncodedTensor>> ahead = new ArrayDeque<>();
            try {
                int next = 0;
                for (int i = 0; i < plan.size(); i++) {
                    while (next < plan.size() && ahead.size() < AHEAD * threads) {
                        TensorPlan.Entry entry = plan.get(next++);
                        ahead.add(encoders.submit(() -> encoder.encode(entry)));
                    }
                    try (EncodedTensor tensor = await(ahead.remove())) {
                        write(writer, plan.get(i), tensor);
                        count(layers, plan.get(i), tensor);
                    }
                    progress.advanced("writing", i + 1L, plan.size());
                }
            } finally {
                for (Future<EncodedTensor> left : ahead) {
                    await(left).close();
                }
            }
            writer.finish();
            return new QuantizeReport(
                    settings.profile().id(),
                    rotation == null ? "none" : rotation.id(),
                    settings.search(),
                    checkpoint.tensorBytes(),
                    writer.totalBytes(),
                    errors(layers),
                    0,
                    CalibrationOrigin.BUILT_IN,
                    null,
                    null);
        }
    }

    private ShardWriter writer() {
        List<StoredTensor> stored = new ArrayList<>();
        plan.forEach(entry -> stored.addAll(entry.stored()));
        return new ShardWriter(directory, stored, settings.maxShardBytes());
    }

    /// Bytes that its files will take on a disk: tensors with their headers and index, and the configuration.
    long fileBytes(@Nullable WeightRotation rotation) throws IOException {
        try (ShardWriter writer = writer()) {
            return writer.fileBytes() + ShardWriter.onDisk(config(rotation).length);
        }
    }

    private static void write(ShardWriter writer, TensorPlan.Entry entry, EncodedTensor tensor) throws IOException {
        List<StoredTensor> parts = entry.stored();
        for (int i = 0; i < parts.size(); i++) {
            writer.write(parts.get(i).name(), tensor.data().get(i));
        }
    }

    private static EncodedTensor await(Future<EncodedTensor> future) throws IOException {
        try {
            return future.get();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw (InterruptedIOException) new InterruptedIOException("interrupted while quantising").initCause(e);
        } catch (ExecutionException e) {
            if (e.getCause() instanceof RuntimeException cause) {
                throw cause;
            }
            throw new IllegalStateException("a tensor could not be encoded", e.getCause());
        }
    }

    private static void count(Map<String, Sums> layers, TensorPlan.Entry entry, EncodedTensor tensor) {
        if (entry.format().isInteger()) {
            Sums sums = layers.computeIfAbsent(layer(entry.name()), name -> new Sums());
            sums.matrices++;
            sums.relative += tensor.energy() == 0 ? 0 : tensor.error() / tensor.energy();
        }
    }

    private static String layer(String tensor) {
        String[] parts = tensor.split("\\.", 4);
        return parts.length == 4 && parts[1].equals("layers") ? "layer " + parts[2] : "head";
    }

    private static List<QuantizeReport.LayerError> errors(Map<String, Sums> layers) {
        List<QuantizeReport.LayerError> errors = new ArrayList<>();
        layers.forEach((name, sums) -> errors.add(
                new QuantizeReport.LayerError(name, sums.matrices, Math.sqrt(sums.relative / sums.matrices))));
        return errors;
    }

    /// Content of `config.json`.
    byte[] config(@Nullable WeightRotation rotation) {
        return new QuantizedConfig(checkpoint, settings.profile(), rotation).bytes(plan);
    }
}
