package io.millrace.kvcache;

import io.grpc.ServerInterceptor;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;
import io.millrace.kvcache.store.BlockStore;
import io.millrace.kvcache.store.MonotonicClock;
import io.millrace.kvcache.store.StoreMeters;
import io.millrace.kvcache.store.StoreStats;
import io.millrace.rpc.GrpcErrorInterceptor;
import io.millrace.rpc.MetricNames;
import io.millrace.startup.arrival.ArrivalLimits;
import io.millrace.startup.arrival.ArrivalProtocol;
import io.millrace.startup.arrival.ManagementPort;
import java.util.HexFormat;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.ToDoubleFunction;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.context.event.ApplicationReadyEvent;
import org.springframework.boot.grpc.server.autoconfigure.GrpcServerExecutorProvider;
import org.springframework.context.ApplicationListener;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.event.ContextClosedEvent;
import org.springframework.grpc.server.GlobalServerInterceptor;

/// Wires the store, the edge and what watches them.
@Configuration(proxyBeanMethods = false)
class KvCacheConfiguration {
    private static final Logger log = LoggerFactory.getLogger(KvCacheConfiguration.class);

    @Bean
    @ConditionalOnMissingBean
    MonotonicClock monotonicClock() {
        return MonotonicClock.system();
    }

    @Bean
    BlockStore blockStore(KvCacheSettings settings, MonotonicClock clock, MeterRegistry registry) {
        long firstEventNumber = System.currentTimeMillis() << 20;
        return new BlockStore(settings.storeLimits(), clock, firstEventNumber, new StoreMeters(registry));
    }

    @Bean
    OpenStreams openStreams() {
        return new OpenStreams();
    }

    @Bean
    KvCacheEdge kvCacheEdge(BlockStore store, KvCacheSettings settings, OpenStreams streams, MeterRegistry registry) {
        String bootEpoch = HexFormat.of().toHexDigits(System.currentTimeMillis())
                + HexFormat.of().toHexDigits(ThreadLocalRandom.current().nextInt());
        log.info(
                "prefix cache: {} bytes in memory, leases of {} ms, boot epoch {}",
                settings.capacityBytes(),
                settings.lease().defaultMillis(),
                bootEpoch);
        return new KvCacheEdge(store, settings, streams, registry, bootEpoch);
    }

    @Bean(initMethod = "start", destroyMethod = "close")
    LeaseSweeper leaseSweeper(BlockStore store, KvCacheSettings settings) {
        return new LeaseSweeper(store, settings.sweepIntervalMillis());
    }

    @Bean
    MillraceEndpoint millraceEndpoint(BlockStore store) {
        return new MillraceEndpoint(store);
    }

    @Bean
    @GlobalServerInterceptor
    ServerInterceptor grpcErrorInterceptor() {
        return new GrpcErrorInterceptor();
    }

    @Bean(destroyMethod = "close")
    ExecutorService grpcExecutor() {
        return Executors.newThreadPerTaskExecutor(
                Thread.ofVirtual().name("kv-cache-grpc-", 0).factory());
    }

    @Bean
    GrpcServerExecutorProvider grpcServerExecutorProvider(ExecutorService grpcExecutor) {
        return () -> grpcExecutor;
    }

    /// Before anything stops: streams without an end are ended, and from then on end no leases.
    @Bean
    ApplicationListener<ContextClosedEvent> drain(BlockStore store, OpenStreams streams) {
        return event -> {
            store.drain();
            streams.endAll();
        };
    }

    @Bean
    ApplicationListener<ApplicationReadyEvent> readyLine() {
        return event -> log.info("kv-cache-service is ready");
    }

    @Bean
    MeterBinder storeGauges(BlockStore store) {
        return registry -> {
            gauge(registry, store, MetricNames.KV_CACHE_BLOCKS, StoreStats::blocks);
            gauge(registry, store, MetricNames.KV_CACHE_PINNED_BLOCKS, StoreStats::pinnedBlocks);
            gauge(registry, store, MetricNames.KV_CACHE_USED_BYTES, StoreStats::usedBytes);
            gauge(registry, store, MetricNames.KV_CACHE_PINNED_BYTES, StoreStats::pinnedBytes);
            gauge(registry, store, MetricNames.KV_CACHE_TAIL_BYTES, StoreStats::tailBytes);
            gauge(registry, store, MetricNames.KV_CACHE_RESERVED_BYTES, StoreStats::reservedBytes);
            gauge(registry, store, MetricNames.KV_CACHE_CAPACITY_BYTES, StoreStats::capacityBytes);
            gauge(registry, store, MetricNames.KV_CACHE_LEASES, StoreStats::leases);
            gauge(registry, store, MetricNames.KV_CACHE_HOLDERS, StoreStats::holders);
        };
    }

    private static void gauge(
            MeterRegistry registry, BlockStore store, String name, ToDoubleFunction<StoreStats> value) {
        Gauge.builder(name, store, from -> value.applyAsDouble(from.stats())).register(registry);
    }

    @Bean
    ManagementPort managementPort() {
        return new ManagementPort(ArrivalProtocol.class, ArrivalLimits.USUAL);
    }
}
