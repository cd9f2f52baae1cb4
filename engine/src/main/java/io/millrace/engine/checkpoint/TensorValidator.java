package io.millrace.engine.checkpoint;

import io.millrace.engine.error.MillraceException;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/// Compares the tensors that are there with the expected ones: name, shape, element type, the
/// scales of FP8 and integers.
final class TensorValidator implements ExpectedTensors.Visitor {
    private final ModelConfig config;
    private final TensorFiles tensors;
    private final ModelFiles model;
    private final Set<String> seen = new HashSet<>();

    private TensorValidator(ModelConfig config, TensorFiles tensors, ModelFiles model) {
        this.config = config;
        this.tensors = tensors;
        this.model = model;
    }

    static void validate(ModelConfig config, TensorFiles tensors, ModelFiles model) {
        TensorValidator validator = new TensorValidator(config, tensors, model);
        // With num_nextn_predict_layers 0 a complete MTP layer may lie in the files, unused; a partial one may not.
        boolean mtpLayer = config.mtpLayers() > 0 || tensors.has("model.layers." + config.layers() + ".eh_proj.weight");
        ExpectedTensors.walk(config, mtpLayer, validator);
        validator.refuseUnknown();
    }

    /// Name of the scales of an FP8 weight.
    static String scaleName(String weight) {
        return weight + "_scale_inv";
    }

    @Override
    public void matrix(String name, long rows, long columns) {
        if (tensors.has(IntegerWeights.packedName(name))) {
            requireInt4(name, rows, columns);
            return;
        }
        TensorInfo info = require(name, List.of(rows, columns));
        switch (info.type()) {
            case BF16, F16, F32 -> {}
            case F8_E4M3 -> requireScales(name, rows, columns);
            case I8 -> requireInt8(name, rows);
            case BOOL, U8, F8_E5M2, I16, U16, I32, U32, I64, U64, F64 ->
                throw bad(name, "dtype " + info.type(), "BF16, F16, F32, F8_E4M3 or I8");
        }
    }

    private void requireInt8(String name, long rows) {
        IntegerScheme scheme = config.integerScheme();
        if (scheme == null || !scheme.int8()) {
            throw bad(name, "dtype I8", "an int-quantized group in quantization_config, or another dtype");
        }
        if (!IntegerWeights.mayBeInt8(name)) {
            throw bad(name, "dtype I8", "BF16, F16 or F32: it stays in floating point");
        }
        String scales = IntegerWeights.scaleName(name);
        TensorInfo info = require(scales, List.of(rows, 1L));
        switch (info.type()) {
            case BF16, F16, F32 -> {}
            case F8_E4M3, BOOL, U8, I8, F8_E5M2, I16, U16, I32, U32, I64, U64, F64 ->
                throw bad(scales, "dtype " + info.type(), "BF16, F16 or F32");
        }
    }

    private void requireInt4(String name, long rows, long columns) {
        String packed = IntegerWeights.packedName(name);
        int group = config.integers()
                .flatMap(IntegerScheme::int4)
                .orElseThrow(() -> bad(packed, "int4", "a pack-quantized group in quantization_config"));
        if (!IntegerWeights.mayBeInt4(name)) {
            throw bad(packed, "int4", "another format: int4 is for routed experts");
        }
        requireType(packed, List.of(rows, Math.ceilDiv(columns, IntegerWeights.PER_WORD)), TensorType.I32);
        requireType(IntegerWeights.scaleName(name), List.of(rows, Math.ceilDiv(columns, group)), TensorType.BF16);
        String shape = IntegerWeights.shapeName(name);
        TensorInfo info = require(shape, List.of(2L));
        List<Long> found = IntegerWeights.shape(info, tensors.fileOf(shape).data(shape));
        if (!found.equals(List.of(rows, columns))) {
            throw bad(shape, info.type() + " " + found, "I64 or I32 " + List.of(rows, columns));
        }
    }

    private void requireType(String name, List<Long> shape, TensorType type) {
        TensorInfo info = require(name, shape);
        if (info.type() != type) {
            throw bad(name, "dtype " + info.type(), type.toString());
        }
    }

    @Override
    public void vector(String name, long size) {
        TensorInfo info = require(name, List.of(size));
        switch (info.type()) {
            case BF16, F16, F32 -> {}
            case F8_E4M3, BOOL, U8, I8, F8_E5M2, I16, U16, I32, U32, I64, U64, F64 ->
                throw bad(name, "dtype " + info.type(), "BF16, F16 or F32");
        }
    }

    @Override
    public void optionalMatrix(String name, long rows, long columns) {
        if (tensors.has(name)) {
            matrix(name, rows, columns);
        }
    }

    private TensorInfo require(String name, List<Long> shape) {
        if (!tensors.has(name)) {
            throw InvalidCheckpoint.of(model.directory(), "tensor " + name + " is missing", "shape " + shape);
        }
        seen.add(name);
        TensorInfo info = tensors.info(name);
        if (!info.shape().equals(shape)) {
            throw bad(name, "shape " + info.shape(), shape.toString());
        }
        return info;
    }

    private void requireScales(String name, long rows, long columns) {
        Fp8Blocks blocks = config.fp8Blocks();
        if (blocks == null) {
            throw bad(name, "dtype F8_E4M3", "a quantization_config in config.json, or another dtype");
        }
        String scales = scaleName(name);
        List<Long> shape = List.of((long) blocks.scaleRows(rows), (long) blocks.scaleColumns(columns));
        requireType(scales, shape, TensorType.F32);
    }

    private void refuseUnknown() {
        if (seen.size() == tensors.size()) {
            return;
        }
        String mtp = "model.layers." + config.layers() + ".";
        for (String name : tensors.inNameOrder().keySet()) {
            if (!seen.contains(name)) {
                throw bad(
                        InvalidCheckpoint.quote(name),
                        "unknown",
                        name.startsWith(mtp) && config.mtpLayers() == 0
                                ? "no tensor of layer " + config.layers()
                                        + " where num_nextn_predict_layers is 0, or a whole MTP layer"
                                : "only tensors of the model that config.json describes");
            }
        }
    }

    private MillraceException bad(String name, String found, String expected) {
        return InvalidCheckpoint.of(
                tensors.has(name) ? tensors.fileOf(name).path() : model.directory(),
                "tensor " + name + ": " + found,
                expected);
    }
}
