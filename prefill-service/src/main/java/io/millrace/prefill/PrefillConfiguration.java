package io.millrace.prefill;

import io.grpc.ServerInterceptor;
import io.micrometer.core.instrument.MeterRegistry;
import io.millrace.engine.model.LoadedModel;
import io.millrace.engine.schedule.EngineLoop;
import io.millrace.engine.schedule.EngineRole;
import io.millrace.rpc.GrpcErrorInterceptor;
import io.millrace.rpc.KvCacheClientSettings;
import io.millrace.rpc.ModelNameTag;
import io.millrace.rpc.generate.CacheChannel;
import io.millrace.rpc.generate.EngineMeters;
import io.millrace.rpc.generate.ServedInstance;
import io.millrace.rpc.generate.SharedCache;
import io.millrace.startup.EngineKeys;
import io.millrace.startup.GracePeriod;
import io.millrace.startup.ProcessEnd;
import io.millrace.startup.ServiceFailure;
import io.millrace.startup.arrival.ArrivalLimits;
import io.millrace.startup.arrival.ArrivalProtocol;
import io.millrace.startup.arrival.ManagementPort;
import java.util.HexFormat;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.context.event.ApplicationReadyEvent;
import org.springframework.boot.grpc.server.autoconfigure.GrpcServerExecutorProvider;
import org.springframework.boot.grpc.server.autoconfigure.GrpcServerProperties;
import org.springframework.context.ApplicationListener;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.Environment;
import org.springframework.grpc.server.GlobalServerInterceptor;

/// Wires model, loop, cache and edge.
@Configuration(proxyBeanMethods = false)
class PrefillConfiguration {
    private static final Logger log = LoggerFactory.getLogger(PrefillConfiguration.class);

    /// A process that runs several services brings its own.
    ///
    /// @param checked  only so that wrong settings show before the long work of loading
    @Bean(destroyMethod = "close")
    @ConditionalOnMissingBean
    LoadedModel loadedModel(PrefillSettings checked, ModelSettings model, Environment environment) {
        return LoadedModel.load(
                model.folder(),
                EngineKeys.bind(environment),
                (what, done, total) -> log.debug("packed {} ({} of {})", what, done, total));
    }

    @Bean
    ModelNameTag modelNameTag(ModelSettings model) {
        return new ModelNameTag(model::name);
    }

    @Bean
    ServedInstance servedInstance(PrefillSettings settings, ModelSettings names, LoadedModel model) {
        String instance = settings.instance();
        return new ServedInstance(
                instance == null ? "prefill-" + ProcessHandle.current().pid() : instance, names.name(), model);
    }

    /// A process that runs several services brings its own.
    @Bean
    @ConditionalOnMissingBean
    ServiceFailure serviceFailure(ConfigurableApplicationContext application) {
        return new ProcessEnd(application);
    }

    @Bean(initMethod = "start", destroyMethod = "close")
    EngineLoop engineLoop(LoadedModel model, PrefillSettings settings, MeterRegistry meters, ServiceFailure failure) {
        EngineLoop loop = new EngineLoop(model, settings.loop(), EngineRole.PREFILL);
        EngineMeters.bind(loop, meters);
        EngineMeters.kernels(model.kernels().description(), model.kernelChecks(), meters);
        loop.died().thenAccept(failure::end);
        return loop;
    }

    /// The grace period is that of the gRPC server.
    @Bean(destroyMethod = "close")
    GracePeriod gracePeriod(ConfigurableApplicationContext application, GrpcServerProperties grpc, EngineLoop loop) {
        return new GracePeriod(application, grpc.getShutdown().getGracePeriod(), loop::stop);
    }

    @Bean
    EngineLoopHealthIndicator engineLoopHealthIndicator(EngineLoop loop) {
        return new EngineLoopHealthIndicator(loop);
    }

    @Bean(initMethod = "start", destroyMethod = "close")
    SharedCacheHolder sharedCacheHolder(
            PrefillSettings settings, ServedInstance served, LoadedModel model, MeterRegistry meters) {
        KvCacheClientSettings client = KvCacheClientSettings.defaults();
        String holder = served.instance() + "-" + HexFormat.of().toHexDigits(System.nanoTime());
        return new SharedCacheHolder(CacheChannel.open("millrace.prefill.kv-cache-targets", settings.kvCacheTargets())
                .map(channel -> new SharedCache(
                        channel,
                        holder,
                        settings.verifyChecksums() ? client : client.withoutChecksums(),
                        model.layout(),
                        meters)));
    }

    @Bean
    MillraceEndpoint millraceEndpoint(SharedCacheHolder cache) {
        return new MillraceEndpoint(cache.cache());
    }

    @Bean
    @GlobalServerInterceptor
    ServerInterceptor grpcErrorInterceptor() {
        return new GrpcErrorInterceptor();
    }

    @Bean(destroyMethod = "close")
    ExecutorService grpcExecutor() {
        return Executors.newThreadPerTaskExecutor(
                Thread.ofVirtual().name("prefill-grpc-", 0).factory());
    }

    @Bean
    GrpcServerExecutorProvider grpcServerExecutorProvider(ExecutorService grpcExecutor) {
        return () -> grpcExecutor;
    }

    @Bean
    PrefillEdge prefillEdge(ServedInstance served, EngineLoop loop, SharedCacheHolder cache, MeterRegistry meters) {
        PrefillMeters counts = new PrefillMeters(meters);
        return new PrefillEdge(served, loop, new PromptRunner(served, loop, cache.cache(), counts));
    }

    /// The start line; the model's own lines name the kernels and why others declined.
    @Bean
    ApplicationListener<ApplicationReadyEvent> readyLine(ServedInstance served, EngineLoop loop) {
        return event -> log.info(
                "prefill-service {} is ready: model {}, weights {}, kernels {}, pool {} tokens, context {} tokens",
                served.instance(),
                served.name(),
                HexFormat.of().formatHex(served.model().weightsDigest(), 0, 8),
                served.model().kernels().description(),
                loop.poolTokens(),
                loop.contextTokens());
    }

    @Bean
    ManagementPort managementPort() {
        return new ManagementPort(ArrivalProtocol.class, ArrivalLimits.USUAL);
    }
}
