package io.millrace.decode;

import io.millrace.engine.schedule.EngineLoop;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.HealthIndicator;

/// Ready while the engine loop takes requests.
final class EngineLoopHealthIndicator implements HealthIndicator {
    private final EngineLoop loop;

    EngineLoopHealthIndicator(EngineLoop loop) {
        this.loop = loop;
    }

    @Override
    public Health health() {
        return loop.isRunning() ? Health.up().build() : Health.outOfService().build();
    }
}
