package io.millrace.it.architecture;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.engine.schedule.LoopSettings;
import io.millrace.gateway.GatewayProperties;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.MapConfigurationPropertySource;

/// Defaults of different services fit each other.
class DefaultLimitsTest {
    /// Otherwise instances refuse what could have waited in the gateway.
    @Test
    void theGatewayRunsNoMoreThanOneInstanceTakesAndEnoughToKeepItBusy() {
        GatewayProperties.Limits gateway = new Binder(new MapConfigurationPropertySource(Map.of()))
                .bindOrCreate("millrace.gateway", GatewayProperties.class)
                .limits();
        LoopSettings instance = LoopSettings.defaults();
        int runs = Objects.requireNonNull(instance.maxSequences());
        int waits = Objects.requireNonNull(instance.maxWaiting());

        assertThat(gateway.maxRunningChoices()).isBetween(runs, runs + waits);
    }
}
