package io.millrace.gateway;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.millrace.gateway.fake.Suite;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.MapConfigurationPropertySource;
import org.springframework.util.unit.DataSize;

class ConfigurationTest {
    private static final String MODEL = "--millrace.model.path=" + Suite.miniModel();

    @Test
    void pinsItsDefaults() {
        GatewayProperties defaults = new Binder(new MapConfigurationPropertySource(Map.of()))
                .bindOrCreate("millrace.gateway", GatewayProperties.class);

        assertThat(defaults)
                .isEqualTo(new GatewayProperties(
                        List.of("static://localhost:9101"),
                        List.of("static://localhost:9102"),
                        List.of("static://localhost:9103"),
                        0,
                        Duration.ofSeconds(1),
                        Duration.ofSeconds(1),
                        new GatewayProperties.Limits(
                                256,
                                256,
                                2,
                                256,
                                Duration.ofSeconds(30),
                                16,
                                DataSize.ofMegabytes(8),
                                Duration.ofMinutes(10),
                                Duration.ofSeconds(15)),
                        new GatewayProperties.Retries(2, 3, Duration.ofSeconds(5))));
    }

    @Test
    void refusesAnUnknownKey() {
        assertThatThrownBy(() -> start(MODEL, "--millrace.gateway.small-promt-tokens=5"))
                .rootCause()
                .hasMessageContaining("small-promt-tokens");
    }

    @Test
    void refusesAValueOutOfRange() {
        assertThatThrownBy(() -> start(MODEL, "--millrace.gateway.limits.max-choices=0"))
                .rootCause()
                .hasMessageContaining("max");
    }

    @Test
    void saysThatItNeedsAModel() {
        assertThatThrownBy(() -> start("--spring.main.banner-mode=off"))
                .rootCause()
                .hasMessageContaining("millrace.model.path");
    }

    private static void start(String... arguments) {
        List<String> all = new ArrayList<>(List.of("--server.port=0", "--management.server.port=0"));
        all.addAll(List.of(arguments));
        SpringApplication.exit(
                GatewayApplication.builder().logStartupInfo(false).run(all.toArray(String[]::new)));
    }
}
