package io.millrace.it.process;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.it.rest.Answer;
import io.millrace.it.rest.Question;
import io.millrace.it.rest.RestClient;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.awaitility.Awaitility;

/// The four services as four processes, and a second decode that starts only when a test wants it.
public final class SeparateSuite implements AutoCloseable {
    private static final Duration SETTLE_TIMEOUT = Duration.ofSeconds(30);
    private static final String LOOPBACK = "127.0.0.1";

    private final ServiceProcess kvCache;
    private final ServiceProcess prefill;
    private final ServiceProcess decode;
    private final ServiceProcess spareDecode;
    private final ServiceProcess gateway;
    private final RestClient rest;

    public SeparateSuite() {
        int cachePort = ServiceProcess.freePort();
        int prefillPort = ServiceProcess.freePort();
        int decodePort = ServiceProcess.freePort();
        int sparePort = ServiceProcess.freePort();
        int restPort = ServiceProcess.freePort();
        String cache = LOOPBACK + ":" + cachePort;
        this.kvCache = service("kv-cache-service", "kv-cache", ServiceProcess.NO_KERNELS, cachePort, List.of());
        this.prefill = service(
                "prefill-service",
                "prefill",
                ServiceProcess.kernels(),
                prefillPort,
                List.of(model(), "millrace.prefill.instance=prefill", "millrace.prefill.kv-cache-targets=" + cache));
        this.decode = decode("decode-1", decodePort, cache);
        this.spareDecode = decode("decode-2", sparePort, cache);
        int managementPort = ServiceProcess.freePort();
        this.gateway = new ServiceProcess(
                "gateway",
                "gateway",
                ServiceProcess.NO_KERNELS,
                managementPort,
                List.of(
                        model(),
                        "server.address=" + LOOPBACK,
                        "server.port=" + restPort,
                        "management.server.port=" + managementPort,
                        "millrace.gateway.describe-interval=200ms",
                        "spring.lifecycle.timeout-per-shutdown-phase=1s",
                        "millrace.gateway.prefill-targets=" + LOOPBACK + ":" + prefillPort,
                        "millrace.gateway.decode-targets=" + LOOPBACK + ":" + decodePort + "," + LOOPBACK + ":"
                                + sparePort,
                        "millrace.gateway.kv-cache-targets=" + cache));
        this.rest = new RestClient(URI.create("http://" + LOOPBACK + ":" + restPort));
    }

    private static ServiceProcess decode(String name, int port, String cache) {
        return service(
                "decode-service",
                name,
                ServiceProcess.kernels(),
                port,
                List.of(model(), "millrace.decode.instance=" + name, "millrace.decode.kv-cache-targets=" + cache));
    }

    private static ServiceProcess service(
            String module, String name, List<String> jvmArguments, int rpcPort, List<String> settings) {
        int managementPort = ServiceProcess.freePort();
        List<String> arguments = new ArrayList<>(settings);
        arguments.add("server.address=" + LOOPBACK);
        arguments.add("server.port=" + managementPort);
        arguments.add("spring.grpc.server.address=" + LOOPBACK);
        arguments.add("spring.grpc.server.port=" + rpcPort);
        return new ServiceProcess(module, name, jvmArguments, managementPort, arguments);
    }

    private static String model() {
        return "millrace.model.path=" + ServiceProcess.root().resolve("models/mini");
    }

    /// Starts what does not run, but for the second decode, and waits until a request goes through all four
    /// services.
    public void makeWhole() {
        spareDecode.kill();
        List<ServiceProcess> started = new ArrayList<>();
        for (ServiceProcess service : List.of(kvCache, prefill, decode, gateway)) {
            if (!service.isAlive()) {
                service.start();
                started.add(service);
            }
        }
        started.forEach(ServiceProcess::awaitReady);
        awaitPassage();
    }

    private void awaitPassage() {
        Question question = Question.chat("passage", "Hi", "\"max_tokens\":2");
        Awaitility.await("a request passes all four services")
                .atMost(SETTLE_TIMEOUT)
                .ignoreExceptionsInstanceOf(RuntimeException.class)
                .untilAsserted(() -> {
                    Answer answer = rest.ask(question);
                    assertThat(answer.instances("prefill")).containsExactly("prefill");
                    assertThat(answer.instances("decode")).containsExactly("decode-1");
                    assertThat(answer.passedCache()).isTrue();
                });
    }

    public ServiceProcess kvCache() {
        return kvCache;
    }

    public ServiceProcess prefill() {
        return prefill;
    }

    public ServiceProcess decode() {
        return decode;
    }

    /// Does not run until a test starts it.
    public ServiceProcess spareDecode() {
        return spareDecode;
    }

    public ServiceProcess gateway() {
        return gateway;
    }

    public RestClient rest() {
        return rest;
    }

    /// The services that hold leases.
    public List<ServiceProcess> holders() {
        return List.of(kvCache, prefill, decode);
    }

    @Override
    public void close() {
        rest.close();
        List.of(gateway, decode, spareDecode, prefill, kvCache).forEach(ServiceProcess::close);
    }
}
