package io.millrace.rpc;

import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.Tag;
import io.micrometer.core.instrument.config.MeterFilter;
import java.util.function.Supplier;

/// Gives each metric that has vLLM's name vLLM's label, too: `model_name`. Those of our own have none, as a process
/// serves one model.
public final class ModelNameTag implements MeterFilter {
    private static final String SHARED = "vllm:";

    private final Supplier<String> name;

    /// @param name  id of the model; asked for when a metric is made
    public ModelNameTag(Supplier<String> name) {
        this.name = name;
    }

    @Override
    public Meter.Id map(Meter.Id id) {
        return id.getName().startsWith(SHARED) ? id.withTag(Tag.of("model_name", name.get())) : id;
    }
}
