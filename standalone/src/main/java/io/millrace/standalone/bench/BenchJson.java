package io.millrace.standalone.bench;

import io.millrace.kernels.nativecode.MachineLimits;
import java.util.OptionalDouble;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/// Writes a report as a JSON array: the machine with its best limits of the run and what was measured under, then
/// a row each.
final class BenchJson {
    private BenchJson() {}

    static String of(BenchReport report) {
        JsonMapper mapper = JsonMapper.shared();
        ArrayNode array = mapper.createArrayNode();
        putMachine(array.addObject(), report);
        for (BenchRow row : report.rows()) {
            put(array.addObject(), row);
        }
        return mapper.writerWithDefaultPrettyPrinter().writeValueAsString(array) + "\n";
    }

    private static void putMachine(ObjectNode object, BenchReport report) {
        BenchSetup setup = report.setup();
        object.put("phase", "machine");
        report.limits().ifPresent(machine -> object.put("isa", machine.isa().id()));
        object.put("threads", setup.threads())
                .put("model", setup.model())
                .put("kv", setup.kv())
                .put("chunk", setup.chunk())
                .put("version", setup.version())
                .put("date", setup.date().toString());
        ArrayNode options = object.putArray("options");
        setup.options().forEach(options::add);
        setup.others().forEach(object::put);
        put(object, "loadAverage", setup.loadAverage());
        report.limits().ifPresent(machine -> putLimits(object, machine));
    }

    private static void put(ObjectNode object, BenchRow row) {
        object.put("phase", row.work().phase().id())
                .put("tokens", row.work().tokens())
                .put("depth", row.work().depth())
                .put("profile", row.profile())
                .put("provider", row.provider())
                .put("dsa", row.dsa())
                .put("tokensPerSecond", row.speed().median());
        if (row.limitTokensPerSecond().isPresent()) {
            object.put("limitTokensPerSecond", row.limitTokensPerSecond().getAsDouble());
        } else {
            object.putNull("limitTokensPerSecond");
        }
        object.put("repeats", row.speed().repeats())
                .put("min", row.speed().min())
                .put("max", row.speed().max());
        if (row.cost().isPresent()) {
            object.put("rowsPerStep", row.work().rowsPerStep());
        }
        row.machine().ifPresent(machine -> putLimits(object, machine));
        put(object, "shareOfLimit", row.shareOfLimit());
        put(object, "bytesPerToken", row.bytesPerToken());
        put(object, "reachedBytesPerSecond", row.bytesPerSecond());
        put(object, "medianStepMicros", row.medianStepMicros());
        put(object, "medianStepBytesPerSecond", row.medianStepBytesPerSecond());
        put(object, "int8ShareInWeightOperators", row.int8Share());
        put(object, "int8ShareOfMedianRound", row.int8ShareOfMedianRound());
        put(object, "attentionMicrosPerToken", row.attentionMicros());
        put(object, "attentionShareOfLimit", row.attentionShare());
        put(object, "attentionShareOfMedianRound", row.attentionShareOfMedianRound());
        if (!row.microsPerToken().isEmpty()) {
            ObjectNode operators = object.putObject("microsPerToken");
            row.microsPerToken().forEach(operators::put);
        }
    }

    private static void putLimits(ObjectNode object, MachineLimits machine) {
        object.put("readBytesPerSecond", machine.readBytesPerSecond())
                .put("meanReadBytesPerSecond", machine.meanReadBytesPerSecond())
                .put("medianReadBytesPerSecond", machine.medianReadBytesPerSecond())
                .put("int8OpsPerSecond", machine.int8OpsPerSecond())
                .put("medianInt8OpsPerSecond", machine.median().int8OpsPerSecond())
                .put("floatOpsPerSecond", machine.floatOpsPerSecond())
                .put("medianFloatOpsPerSecond", machine.median().floatOpsPerSecond());
    }

    private static void put(ObjectNode object, String name, OptionalDouble value) {
        if (value.isPresent()) {
            object.put(name, value.getAsDouble());
        }
    }
}
