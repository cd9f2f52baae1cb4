package io.millrace.kvcache;

import io.grpc.ManagedChannel;
import io.grpc.Server;
import io.grpc.netty.NettyChannelBuilder;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.millrace.kvcache.store.FakeClock;
import io.millrace.kvcache.store.MonotonicClock;
import io.millrace.rpc.KvCacheClient;
import io.millrace.rpc.KvCacheClientSettings;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.support.GenericApplicationContext;
import org.springframework.grpc.server.lifecycle.GrpcServerStartedEvent;

/// The whole service on random ports, with a clock that the test moves.
final class CacheProcess implements AutoCloseable {
    static final KvCacheClientSettings CLIENT = new KvCacheClientSettings(
            5_000, 10_000, 20_000, 5_000, 30_000, 20, 200, KvCacheClientSettings.DEFAULT_MAX_MESSAGE_BYTES, true);

    final FakeClock clock = new FakeClock();
    final SimpleMeterRegistry clientMeters = new SimpleMeterRegistry();
    private final AtomicReference<@Nullable Server> server = new AtomicReference<>();
    private final ConfigurableApplicationContext context;
    private final List<KvCacheClient> clients = new ArrayList<>();
    private final List<ManagedChannel> channels = new ArrayList<>();

    CacheProcess(String... properties) {
        List<String> args = new ArrayList<>(List.of("--spring.grpc.server.port=0", "--server.port=0"));
        for (String property : properties) {
            args.add("--" + property);
        }
        SpringApplicationBuilder builder = KvCacheApplication.builder();
        builder.initializers(created -> ((GenericApplicationContext) created)
                .registerBean("monotonicClock", MonotonicClock.class, () -> clock));
        builder.listeners((GrpcServerStartedEvent started) -> server.set(started.getServer()));
        this.context = builder.run(args.toArray(String[]::new));
    }

    <T> T bean(Class<T> type) {
        return context.getBean(type);
    }

    ManagedChannel channel() {
        ManagedChannel channel = NettyChannelBuilder.forAddress(
                        "localhost", grpcServer().getPort())
                .usePlaintext()
                .build();
        channels.add(channel);
        return channel;
    }

    KvCacheClient client(String holder) {
        KvCacheClient client = new KvCacheClient(channel(), holder, CLIENT, clientMeters);
        clients.add(client);
        return client;
    }

    HttpResponse<String> get(String path) throws IOException, InterruptedException {
        int port = context.getEnvironment().getRequiredProperty("local.server.port", Integer.class);
        try (HttpClient http = HttpClient.newHttpClient()) {
            return http.send(
                    HttpRequest.newBuilder(URI.create("http://localhost:" + port + path))
                            .build(),
                    HttpResponse.BodyHandlers.ofString());
        }
    }

    /// The running server, for a test that kills it.
    Server grpcServer() {
        Server running = server.get();
        if (running == null) {
            throw new IllegalStateException("the server has not started");
        }
        return running;
    }

    /// Ends the service in an orderly way.
    void stop() {
        context.close();
    }

    @Override
    public void close() {
        clients.forEach(KvCacheClient::close);
        channels.forEach(ManagedChannel::shutdownNow);
        context.close();
    }
}
