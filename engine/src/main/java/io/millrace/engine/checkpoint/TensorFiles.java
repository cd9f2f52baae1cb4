package io.millrace.engine.checkpoint;

import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/// The safetensors files of a model folder as one set of tensors: `model.safetensors` if it is there,
/// otherwise the shards that `model.safetensors.index.json` names. Index and shards must agree on every
/// tensor.
final class TensorFiles implements AutoCloseable {
    private static final String SINGLE = "model.safetensors";
    private static final String INDEX = "model.safetensors.index.json";
    private static final int MAX_SHARDS = 4096;

    private final Map<String, SafetensorsFile> files = new LinkedHashMap<>();
    private final Map<String, SafetensorsFile> fileOf = new LinkedHashMap<>();

    private TensorFiles() {}

    static TensorFiles open(ModelFiles model) {
        TensorFiles result = new TensorFiles();
        boolean opened = false;
        try {
            if (model.has(SINGLE) || !model.has(INDEX)) {
                result.addFile(model, SINGLE);
            } else {
                result.addShards(model);
            }
            opened = true;
            return result;
        } finally {
            if (!opened) {
                result.close();
            }
        }
    }

    /// Number of tensors in all files.
    int size() {
        return fileOf.size();
    }

    boolean has(String name) {
        return fileOf.containsKey(name);
    }

    /// The file that holds the tensor, which must be there.
    SafetensorsFile fileOf(String name) {
        SafetensorsFile file = fileOf.get(name);
        if (file == null) {
            throw new IllegalArgumentException("tensor: " + name + " (expected: a tensor of the checkpoint)");
        }
        return file;
    }

    TensorInfo info(String name) {
        return Objects.requireNonNull(fileOf(name).tensors().get(name));
    }

    /// All tensors, in the order of their names.
    Map<String, TensorInfo> inNameOrder() {
        Map<String, TensorInfo> result = new TreeMap<>();
        files.values().forEach(file -> result.putAll(file.tensors()));
        return result;
    }

    @Override
    public void close() {
        files.values().forEach(SafetensorsFile::close);
    }

    private void addFile(ModelFiles model, String name) {
        SafetensorsFile file = SafetensorsFile.open(model.file(name));
        files.put(name, file);
        for (String tensor : file.tensors().keySet()) {
            SafetensorsFile other = fileOf.put(tensor, file);
            if (other != null) {
                throw InvalidCheckpoint.of(
                        file.path(),
                        "tensor " + InvalidCheckpoint.quote(tensor) + " is also in "
                                + other.path().getFileName(),
                        "each tensor in one file");
            }
        }
    }

    private void addShards(ModelFiles model) {
        JsonFile json = JsonFile.read(model.file(INDEX));
        JsonKeys map = new JsonKeys(json.file(), "", json.root()).child("weight_map");
        Map<String, String> shardOf = new LinkedHashMap<>();
        for (Map.Entry<String, JsonNode> entry : map.object().properties()) {
            String tensor = InvalidCheckpoint.quote(entry.getKey());
            if (!entry.getValue().isString()) {
                throw map.invalid(tensor, JsonKeys.show(entry.getValue()), "a file name");
            }
            String shard = entry.getValue().stringValue();
            shardOf.put(entry.getKey(), shard);
            if (!files.containsKey(shard)) {
                if (files.size() == MAX_SHARDS) {
                    throw map.invalid(tensor, "more than " + MAX_SHARDS + " files", "at most that many");
                }
                addFile(model, shard);
            }
            requireTensor(json.file(), files.get(shard), entry.getKey());
        }
        for (String tensor : fileOf.keySet()) {
            if (!shardOf.containsKey(tensor)) {
                Path holder = fileOf(tensor).path().getFileName();
                throw InvalidCheckpoint.of(
                        json.file(),
                        "tensor " + InvalidCheckpoint.quote(tensor) + " of " + holder + " is not listed",
                        "every tensor of every shard in weight_map");
            }
        }
    }

    private static void requireTensor(Path index, @Nullable SafetensorsFile shard, String tensor) {
        if (shard == null || !shard.tensors().containsKey(tensor)) {
            throw InvalidCheckpoint.of(
                    index,
                    "tensor " + InvalidCheckpoint.quote(tensor) + " is not in "
                            + (shard == null ? "any shard" : shard.path().getFileName()),
                    "the shard that weight_map names");
        }
    }
}
