package io.millrace.gateway;

import io.micrometer.core.instrument.MeterRegistry;
import io.millrace.gateway.connection.ConnectorSetup;
import io.millrace.gateway.generation.Admission;
import io.millrace.gateway.generation.ChoicePlanner;
import io.millrace.gateway.generation.GenerationMetrics;
import io.millrace.gateway.generation.GenerationService;
import io.millrace.gateway.generation.GenerationSettings;
import io.millrace.gateway.router.LeaseReleaser;
import io.millrace.gateway.router.Router;
import io.millrace.gateway.served.ServedModel;
import io.millrace.gateway.served.ServedModelLoader;
import io.millrace.gateway.served.TextEncoder;
import io.millrace.rpc.ModelNameTag;
import io.millrace.startup.arrival.ArrivalLimits;
import io.millrace.startup.arrival.Arrivals;
import java.nio.file.Path;
import java.security.SecureRandom;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/// The gateway's parts. A process that runs several services brings its own [ServedModel].
@Configuration(proxyBeanMethods = false)
class GatewayConfiguration {
    @Bean
    @ConditionalOnMissingBean
    ServedModel servedModel(ModelProperties properties) {
        Path path = properties.path();
        if (path == null) {
            throw new IllegalArgumentException("millrace.model.path: missing (expected: a model folder)");
        }
        return ServedModelLoader.load(path, properties.servedName());
    }

    /// Found once it is asked for: the first metric of generation is made after the model.
    @Bean
    ModelNameTag modelNameTag(ObjectProvider<ServedModel> model) {
        return new ModelNameTag(() -> model.getObject().name());
    }

    @Bean(initMethod = "start")
    Router router(GatewayProperties properties) {
        return new Router(new Router.Settings(
                properties.prefillTargets(),
                properties.decodeTargets(),
                properties.smallPromptTokens(),
                properties.describeInterval(),
                properties.describeTimeout()));
    }

    @Bean
    LeaseReleaser leaseReleaser(GatewayProperties properties) {
        return new LeaseReleaser(properties.kvCacheTargets());
    }

    @Bean
    Admission admission(GatewayProperties properties, MeterRegistry meters) {
        GatewayProperties.Limits limits = properties.limits();
        return new Admission(limits.maxRunningChoices(), limits.maxWaitingRequests(), limits.maxWait(), meters);
    }

    @Bean
    TextEncoder textEncoder(ServedModel model, GatewayProperties properties, MeterRegistry meters) {
        GatewayProperties.Limits limits = properties.limits();
        TextEncoder.Settings settings =
                new TextEncoder.Settings(limits.tokenizerThreads(), limits.maxWaitingTexts(), limits.maxWait());
        return new TextEncoder(model.tokenizer()::encode, settings, meters);
    }

    @Bean
    ChoicePlanner choicePlanner(ServedModel model, Router router) {
        return new ChoicePlanner(model, router, new SecureRandom());
    }

    @Bean
    GenerationService generationService(
            ServedModel model,
            Router router,
            LeaseReleaser releaser,
            Admission admission,
            GatewayProperties properties,
            MeterRegistry meters) {
        GatewayProperties.Retries retries = properties.retries();
        return new GenerationService(
                model.tokenizer(),
                router,
                releaser,
                admission,
                new GenerationSettings(
                        properties.limits().requestTimeout(),
                        retries.prefillAttempts(),
                        retries.decodeAttempts(),
                        retries.resumeWait()),
                new GenerationMetrics(meters));
    }

    @Bean
    HealthIndicator decodeHealthIndicator(Router router) {
        return () -> router.isReady()
                ? Health.up().build()
                : Health.outOfService()
                        .withDetail("reason", "no decode instance is available")
                        .build();
    }

    @Bean
    ArrivalLimits arrivalLimits(GatewayProperties properties) {
        return new ArrivalLimits(
                properties.limits().headTimeout(), properties.limits().bodyTimeout());
    }

    /// Those of the REST surface.
    @Bean
    Arrivals arrivals() {
        return new Arrivals();
    }

    @Bean
    ConnectorSetup connectorSetup(ArrivalLimits limits, Arrivals arrivals) {
        return new ConnectorSetup(limits, arrivals);
    }
}
