package io.millrace.engine.quantize;

import io.millrace.engine.checkpoint.Checkpoint;
import io.millrace.engine.checkpoint.ModelConfig;
import io.millrace.engine.checkpoint.SafetensorsFile;
import io.millrace.engine.checkpoint.SafetensorsWriter;
import io.millrace.engine.checkpoint.TensorInfo;
import io.millrace.engine.checkpoint.TensorType;
import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/// Copies a checkpoint and plants channels whose activations are 32 times too large: in the normed
/// residual stream of every layer, by the norms' gains, and in the inner activations of feed-forwards,
/// by rows of `up_proj`. The columns that read them are 32 times smaller, exactly, a power of two being
/// exact in bfloat16: the float model is the same.
final class PlantedOutliers {
    private static final int FACTOR_EXPONENT = 5;

    static final Placement ONE = new Placement(List.of(3, 77, 130, 201), List.of(5, 40));
    static final Placement OTHER = new Placement(List.of(10, 60, 150, 222), List.of(20, 50));

    /// Channels of the normed residual stream, and of inner activations.
    record Placement(List<Integer> stream, List<Integer> inner) {}

    private final Map<String, TensorInfo> infos = new HashMap<>();
    private final Map<String, byte[]> data = new HashMap<>();
    private final ModelConfig config;
    private final Placement where;

    private PlantedOutliers(Path source, Placement where) {
        this.where = where;
        try (Checkpoint checkpoint = Checkpoint.open(source);
                SafetensorsFile file = SafetensorsFile.open(source.resolve("model.safetensors"))) {
            config = checkpoint.config();
            infos.putAll(file.tensors());
            infos.keySet().forEach(name -> data.put(name, file.data(name).toArray(ValueLayout.JAVA_BYTE)));
        }
    }

    /// @param where  which channels
    static void write(Path source, Path target, Placement where) throws IOException {
        PlantedOutliers planted = new PlantedOutliers(source, where);
        for (int layer = 0; layer <= planted.config.layers(); layer++) {
            planted.plant("model.layers." + layer + ".");
        }
        Files.createDirectories(target);
        for (String name : new String[] {"config.json", "tokenizer.json", "tokenizer_config.json"}) {
            Files.copy(source.resolve(name), target.resolve(name));
        }
        SafetensorsWriter writer = new SafetensorsWriter();
        planted.infos.forEach((name, info) ->
                writer.put(name, info.type(), info.shape(), Objects.requireNonNull(planted.data.get(name))));
        writer.write(target.resolve("model.safetensors"));
    }

    private void plant(String prefix) {
        for (int channel : where.stream) {
            scaleRow(prefix + "input_layernorm.weight", channel, FACTOR_EXPONENT);
            for (String reader :
                    new String[] {"q_a_proj", "kv_a_proj_with_mqa", "indexer.wk", "indexer.weights_proj"}) {
                scaleColumn(prefix + "self_attn." + reader + ".weight", channel);
            }
            scaleRow(prefix + "post_attention_layernorm.weight", channel, FACTOR_EXPONENT);
            for (String name : infos.keySet()) {
                boolean reads = name.startsWith(prefix + "mlp.")
                        && (name.endsWith("gate_proj.weight")
                                || name.endsWith("up_proj.weight")
                                || name.endsWith("mlp.gate.weight"));
                if (reads) {
                    scaleColumn(name, channel);
                }
            }
        }
        for (String name : infos.keySet()) {
            if (name.startsWith(prefix + "mlp.") && name.endsWith("up_proj.weight")) {
                for (int channel : where.inner) {
                    scaleRow(name, channel, FACTOR_EXPONENT);
                    scaleColumn(name.replace("up_proj", "down_proj"), channel);
                }
            }
        }
    }

    private void scaleRow(String name, int row, int exponent) {
        int width = widthOf(name);
        for (int i = 0; i < width; i++) {
            scale(name, row * width + i, exponent);
        }
    }

    private void scaleColumn(String name, int column) {
        int width = widthOf(name);
        int rows = Math.toIntExact(info(name).shape().getFirst());
        for (int row = 0; row < rows; row++) {
            scale(name, row * width + column, -FACTOR_EXPONENT);
        }
    }

    private int widthOf(String name) {
        return info(name).shape().size() == 1
                ? 1
                : Math.toIntExact(info(name).shape().get(1));
    }

    private TensorInfo info(String name) {
        return Objects.requireNonNull(infos.get(name), name);
    }

    private void scale(String name, int element, int exponent) {
        if (info(name).type() != TensorType.BF16) {
            throw new IllegalArgumentException(name + ": " + info(name).type() + " (expected: BF16)");
        }
        ByteBuffer bytes =
                ByteBuffer.wrap(Objects.requireNonNull(data.get(name))).order(ByteOrder.LITTLE_ENDIAN);
        float value = Float.intBitsToFloat(bytes.getShort(element * Short.BYTES) << 16);
        bytes.putShort(element * Short.BYTES, (short) (Float.floatToRawIntBits(Math.scalb(value, exponent)) >>> 16));
    }
}
