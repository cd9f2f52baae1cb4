package io.millrace.engine.checkpoint;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/// Writes small random checkpoints for tests: every tensor that the configuration asks for, seeded, in
/// BF16, with FP8 weights where `config.json` has a `quantization_config` and float32 router biases.
public final class CheckpointWriter implements ExpectedTensors.Visitor {
    private static final float WEIGHT_SCALE = 0.08f;
    private static final List<String> NEVER_FP8 =
            List.of("embed_tokens", "lm_head", "mlp.gate.", "weights_proj", "eh_proj", "shared_head");

    private final ModelConfig config;
    private final SplittableRandom random;
    private final boolean repeatsEmbeddings;
    private final List<SafetensorsWriter> shards = new ArrayList<>();
    private final List<String> names = new ArrayList<>();

    private CheckpointWriter(ModelConfig config, int shardCount, long seed) {
        this.config = config;
        this.random = new SplittableRandom(seed);
        this.repeatsEmbeddings = config.modelType().equals("deepseek_v32");
        for (int i = 0; i < shardCount; i++) {
            shards.add(new SafetensorsWriter());
        }
    }

    /// Writes `config.json` and the weights, MTP layer included where the configuration has one.
    ///
    /// @param shardCount  1 for `model.safetensors`, more for shards and an index
    public static void write(Path directory, String configJson, int shardCount, long seed) {
        try {
            Files.createDirectories(directory);
            Files.writeString(directory.resolve("config.json"), configJson);
            ModelConfig config = ModelConfig.read(directory);
            CheckpointWriter writer = new CheckpointWriter(config, shardCount, seed);
            ExpectedTensors.walk(config, config.mtpLayers() > 0, writer);
            writer.finish(directory);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public void matrix(String name, long rows, long columns) {
        List<Long> shape = List.of(rows, columns);
        int count = Math.toIntExact(rows * columns);
        Fp8Blocks blocks = config.fp8Blocks();
        if (blocks == null || NEVER_FP8.stream().anyMatch(name::contains)) {
            put(name, TensorType.BF16, shape, bf16(count));
            return;
        }
        byte[] codes = new byte[count];
        for (int i = 0; i < count; i++) {
            codes[i] = (byte) (random.nextInt(0x50) | random.nextInt(2) << 7);
        }
        put(name, TensorType.F8_E4M3, shape, codes);
        List<Long> scaleShape = List.of((long) blocks.scaleRows(rows), (long) blocks.scaleColumns(columns));
        put(
                name + "_scale_inv",
                TensorType.F32,
                scaleShape,
                f32(blocks.scaleRows(rows) * blocks.scaleColumns(columns)));
    }

    @Override
    public void vector(String name, long size) {
        int count = Math.toIntExact(size);
        if (name.endsWith("e_score_correction_bias")) {
            put(name, TensorType.F32, List.of(size), f32(count));
        } else {
            put(name, TensorType.BF16, List.of(size), bf16(count));
        }
    }

    @Override
    public void optionalMatrix(String name, long rows, long columns) {
        if (repeatsEmbeddings && !name.equals("lm_head.weight")) {
            matrix(name, rows, columns);
        }
    }

    private void put(String name, TensorType type, List<Long> shape, byte[] data) {
        shards.get(names.size() % shards.size()).put(name, type, shape, data);
        names.add(name);
    }

    private byte[] bf16(int count) {
        ByteBuffer data = ByteBuffer.allocate(count * Short.BYTES).order(ByteOrder.LITTLE_ENDIAN);
        for (int i = 0; i < count; i++) {
            data.putShort((short) (Float.floatToRawIntBits(gaussian()) >>> 16));
        }
        return data.array();
    }

    private byte[] f32(int count) {
        ByteBuffer data = ByteBuffer.allocate(count * Float.BYTES).order(ByteOrder.LITTLE_ENDIAN);
        for (int i = 0; i < count; i++) {
            data.putFloat(Math.abs(gaussian()));
        }
        return data.array();
    }

    private float gaussian() {
        return (float) random.nextGaussian() * WEIGHT_SCALE;
    }

    private void finish(Path directory) throws IOException {
        if (shards.size() == 1) {
            shards.getFirst().write(directory.resolve("model.safetensors"));
            return;
        }
        StringBuilder map = new StringBuilder();
        for (int i = 0; i < names.size(); i++) {
            map.append(i == 0 ? "" : ",").append("\"%s\":\"%s\"".formatted(names.get(i), shardName(i % shards.size())));
        }
        for (int i = 0; i < shards.size(); i++) {
            shards.get(i).write(directory.resolve(shardName(i)));
        }
        String index = "{\"metadata\":{\"total_size\":0},\"weight_map\":{" + map + "}}";
        Files.write(directory.resolve("model.safetensors.index.json"), index.getBytes(StandardCharsets.UTF_8));
    }

    private String shardName(int shard) {
        return "model-%05d-of-%05d.safetensors".formatted(shard + 1, shards.size());
    }
}
