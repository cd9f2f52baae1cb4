package io.millrace.engine.checkpoint;

import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/// Reads `quantization_config` of `config.json`: `fp8`, or integers in compressed-tensors conventions.
final class QuantizationReader {
    private static final String KEY = "quantization_config";
    private static final String FP8 = "fp8";
    private static final String INTEGERS = "compressed-tensors";
    private static final String INT8_FORMAT = "int-quantized";
    private static final String INT4_FORMAT = "pack-quantized";
    private static final String MIXED_FORMAT = "mixed-precision";
    private static final List<Integer> INT4_GROUPS = List.of(32, 64);
    private static final int MAX_BLOCK = 1 << 18;
    private static final int MAX_GROUPS = 64;

    private final @Nullable JsonKeys config;
    private final String method;

    QuantizationReader(JsonKeys keys) {
        config = keys.has(KEY) ? keys.child(KEY) : null;
        method = config == null ? "" : config.text("quant_method");
        if (config != null && !method.equals(FP8) && !method.equals(INTEGERS)) {
            throw config.invalid("quant_method", InvalidCheckpoint.quote(method), FP8 + " or " + INTEGERS);
        }
    }

    @Nullable
    Fp8Blocks fp8() {
        if (config == null || !method.equals(FP8)) {
            return null;
        }
        only(config, "fmt", "e4m3");
        List<Integer> size = config.ids("weight_block_size", MAX_BLOCK + 1, 2);
        if (size.size() != 2 || size.get(0) < 1 || size.get(1) < 1) {
            throw config.invalid("weight_block_size", size.toString(), "two positive integers");
        }
        return new Fp8Blocks(size.get(0), size.get(1));
    }

    /// Which tensors are integers the tensors themselves say, `targets` and `ignore` are not read; here
    /// the groups are checked to mean what is computed.
    @Nullable
    IntegerScheme integers() {
        if (config == null || !method.equals(INTEGERS)) {
            return null;
        }
        only(config, "quantization_status", "compressed");
        for (String key : List.of("kv_cache_scheme", "sparsity_config", "transform_config")) {
            if (config.has(key) && !config.node(key).isEmpty()) {
                throw config.invalid(key, JsonKeys.show(config.node(key)), "null");
            }
        }
        JsonKeys groups = config.child("config_groups");
        if (groups.object().isEmpty() || groups.object().size() > MAX_GROUPS) {
            throw config.invalid("config_groups", groups.object().size() + " groups", "1.." + MAX_GROUPS);
        }
        boolean int8 = false;
        Integer int4Group = null;
        for (Map.Entry<String, JsonNode> entry : groups.object().properties()) {
            JsonKeys group = groups.child(entry.getKey());
            switch (format(group)) {
                case INT8_FORMAT -> int8 = isChannelwise(group);
                case INT4_FORMAT -> int4Group = int4Group(group, int4Group);
                default -> throw new IllegalStateException("format() lets two pass");
            }
            activations(group.child("input_activations"));
            if (group.has("output_activations")) {
                throw group.invalid("output_activations", JsonKeys.show(group.node("output_activations")), "null");
            }
        }
        return new IntegerScheme(int8, int4Group);
    }

    private String format(JsonKeys group) {
        JsonKeys holder = group.has("format") ? group : Objects.requireNonNull(config);
        String format = holder.text("format");
        if (!format.equals(INT8_FORMAT) && !format.equals(INT4_FORMAT)) {
            throw holder.invalid(
                    "format",
                    InvalidCheckpoint.quote(format),
                    INT8_FORMAT + " or " + INT4_FORMAT
                            + (format.equals(MIXED_FORMAT) ? " in each group of " + MIXED_FORMAT : ""));
        }
        return format;
    }

    private static boolean isChannelwise(JsonKeys group) {
        JsonKeys weights = weights(group, 8);
        requireText(weights, "strategy", "channel");
        return true;
    }

    private static int int4Group(JsonKeys group, @Nullable Integer before) {
        JsonKeys weights = weights(group, 4);
        requireText(weights, "strategy", "group");
        only(weights, "actorder", "static");
        int size = weights.integer("group_size", 1, MAX_BLOCK);
        if (!INT4_GROUPS.contains(size) || (before != null && before != size)) {
            throw weights.invalid(
                    "group_size", String.valueOf(size), before == null ? "32 or 64" : before + " as in another group");
        }
        return size;
    }

    private static JsonKeys weights(JsonKeys group, int bits) {
        JsonKeys weights = group.child("weights");
        weights.integer("num_bits", bits, bits);
        requireText(weights, "type", "int");
        requireFact(weights, "symmetric", true);
        if (weights.fact("dynamic", false)) {
            throw weights.invalid("dynamic", "true", "false");
        }
        return weights;
    }

    private static void activations(JsonKeys activations) {
        activations.integer("num_bits", 8, 8);
        requireText(activations, "type", "int");
        requireText(activations, "strategy", "token");
        requireFact(activations, "symmetric", true);
        requireFact(activations, "dynamic", true);
    }

    private static void requireFact(JsonKeys keys, String key, boolean wanted) {
        if (!keys.has(key) || keys.fact(key, wanted) != wanted) {
            throw keys.invalid(key, keys.has(key) ? String.valueOf(!wanted) : "no value", String.valueOf(wanted));
        }
    }

    private static void requireText(JsonKeys keys, String key, String wanted) {
        if (!keys.text(key).equals(wanted)) {
            throw keys.invalid(key, InvalidCheckpoint.quote(keys.text(key)), wanted);
        }
    }

    private static void only(JsonKeys keys, String key, String wanted) {
        if (keys.has(key)) {
            requireText(keys, key, wanted);
        }
    }
}
