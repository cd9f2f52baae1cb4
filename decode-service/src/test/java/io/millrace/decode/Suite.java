package io.millrace.decode;

import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.millrace.engine.model.LoadProgress;
import io.millrace.engine.model.LoadedModel;
import io.millrace.engine.schedule.EngineLoop;
import io.millrace.engine.settings.EngineSettings;
import io.millrace.engine.settings.KvSettings;
import io.millrace.prefill.PrefillApplication;
import io.millrace.proto.v1.DecodeServiceGrpc;
import io.millrace.proto.v1.PrefillServiceGrpc;
import io.millrace.startup.ServiceFailure;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.grpc.server.lifecycle.GrpcServerLifecycle;

/// Prefill and two decode services over one loaded model and one cache, on real ports: the second
/// decode service has one place and does not verify checksums.
final class Suite implements AutoCloseable {
    static final int PAGES = 32;

    private final LoadedModel model;
    private final ConfigurableApplicationContext prefill;
    private final ConfigurableApplicationContext decode;
    private final ConfigurableApplicationContext trusting;
    private final List<ManagedChannel> channels = new ArrayList<>();

    /// @param target  of the cache
    Suite(String target) {
        var defaults = EngineSettings.defaults();
        model = LoadedModel.load(
                Path.of(System.getProperty("millrace.root"), "models", "mini"),
                new EngineSettings(
                        defaults.kernels(), defaults.dsa(), new KvSettings(null, PAGES * 64), defaults.weights()),
                LoadProgress.SILENT);
        prefill = start(PrefillApplication.builder(), "--millrace.prefill.kv-cache-targets=" + target);
        decode = start(
                DecodeApplication.builder(),
                "--millrace.decode.kv-cache-targets=" + target,
                "--millrace.model.path=" + System.getProperty("millrace.root") + "/models/mini");
        trusting = start(
                DecodeApplication.builder(),
                "--millrace.decode.kv-cache-targets=" + target,
                "--millrace.model.path=" + System.getProperty("millrace.root") + "/models/mini",
                "--millrace.decode.verify-checksums=false",
                "--millrace.decode.schedule.max-sequences=1",
                "--millrace.decode.schedule.max-waiting=0");
    }

    private ConfigurableApplicationContext start(SpringApplicationBuilder builder, String... arguments) {
        List<String> all = new ArrayList<>(List.of(arguments));
        all.add("--spring.grpc.server.port=0");
        all.add("--server.port=0");
        return builder.initializers(context -> context.getBeanFactory().registerSingleton("sharedModel", model))
                .run(all.toArray(String[]::new));
    }

    /// One more decode service, without a cache; the caller stops it.
    ConfigurableApplicationContext another(String... arguments) {
        List<String> all = new ArrayList<>(List.of(arguments));
        all.add("--millrace.model.path=" + System.getProperty("millrace.root") + "/models/mini");
        return start(DecodeApplication.builder(), all.toArray(String[]::new));
    }

    /// One more whose engine may fail; the caller stops it.
    ConfigurableApplicationContext mortal(ServiceFailure failure) {
        return start(
                DecodeApplication.builder()
                        .initializers(context -> context.getBeanFactory().registerSingleton("onFailure", failure)),
                "--millrace.model.path=" + System.getProperty("millrace.root") + "/models/mini");
    }

    DecodeServiceGrpc.DecodeServiceBlockingStub decode(ConfigurableApplicationContext application) {
        return DecodeServiceGrpc.newBlockingStub(channel(application));
    }

    PrefillServiceGrpc.PrefillServiceBlockingStub prefill() {
        return PrefillServiceGrpc.newBlockingStub(channel(prefill));
    }

    DecodeServiceGrpc.DecodeServiceBlockingStub decode() {
        return DecodeServiceGrpc.newBlockingStub(channel(decode));
    }

    DecodeServiceGrpc.DecodeServiceBlockingStub trusting() {
        return DecodeServiceGrpc.newBlockingStub(channel(trusting));
    }

    private ManagedChannel channel(ConfigurableApplicationContext application) {
        int port = application.getBean(GrpcServerLifecycle.class).getPort();
        ManagedChannel channel = Grpc.newChannelBuilder("localhost:" + port, InsecureChannelCredentials.create())
                .build();
        channels.add(channel);
        return channel;
    }

    EngineLoop loop() {
        return decode.getBean(EngineLoop.class);
    }

    EngineLoop trustingLoop() {
        return trusting.getBean(EngineLoop.class);
    }

    String get(String path) throws IOException, InterruptedException {
        return get(decode, path);
    }

    static String get(ConfigurableApplicationContext application, String path)
            throws IOException, InterruptedException {
        String port = application.getEnvironment().getRequiredProperty("local.server.port");
        HttpRequest request = HttpRequest.newBuilder(URI.create("http://localhost:" + port + path))
                .build();
        return HttpClient.newHttpClient()
                .send(request, HttpResponse.BodyHandlers.ofString())
                .body();
    }

    @Override
    public void close() {
        channels.forEach(ManagedChannel::shutdownNow);
        SpringApplication.exit(trusting);
        SpringApplication.exit(decode);
        SpringApplication.exit(prefill);
        model.close();
    }
}
