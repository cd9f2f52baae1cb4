package io.millrace.standalone.suite;

import io.micrometer.core.instrument.MeterRegistry;
import io.millrace.decode.DecodeApplication;
import io.millrace.engine.checkpoint.ModelConfig;
import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.engine.kv.KvLayout;
import io.millrace.engine.kv.PagePool;
import io.millrace.engine.model.LoadProgress;
import io.millrace.engine.model.LoadedModel;
import io.millrace.gateway.GatewayApplication;
import io.millrace.gateway.route.RequestsUnderWay;
import io.millrace.gateway.served.ServedModel;
import io.millrace.gateway.served.ServedModelLoader;
import io.millrace.kernels.provider.KernelProviders;
import io.millrace.kvcache.KvCacheApplication;
import io.millrace.prefill.PrefillApplication;
import io.millrace.startup.ServiceFailure;
import io.millrace.startup.StartFailure;
import java.math.BigInteger;
import java.net.URI;
import java.util.EnumMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.boot.web.server.PortInUseException;
import org.springframework.context.ConfigurableApplicationContext;

/// The four services in one process: four application contexts that talk gRPC over the loopback
/// address, as they would in four processes. Prefill and decode share one loaded model. The inner ports
/// are free ones; nothing but the REST surface is meant to be reached from outside.
public final class Suite implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(Suite.class);

    private static final String CACHE_CAPACITY = "millrace.kv-cache.capacity-bytes";

    private final SuiteSettings settings;
    private final Map<SuiteService, ConfigurableApplicationContext> contexts = new EnumMap<>(SuiteService.class);
    private final CountDownLatch closed = new CountDownLatch(1);
    private @Nullable LoadedModel model;
    private @Nullable ServedModel served;
    private boolean startBegun;
    private boolean startEnded;
    private volatile boolean closing;
    private final AtomicReference<@Nullable String> failure = new AtomicReference<>();

    public Suite(SuiteSettings settings) {
        this.settings = settings;
    }

    /// Loads the model and starts the services. If anything fails, what was started is closed again. A
    /// suite starts once.
    ///
    /// @throws MillraceException  with a sentence for whoever gave the settings: the port is in use, the
    ///                            model is not there or not sound, the kernel provider cannot run here
    /// @throws IllegalArgumentException  if the host is no address of this machine
    public void start(LoadProgress progress) {
        synchronized (this) {
            if (startBegun) {
                throw new IllegalStateException("the suite was started before");
            }
            startBegun = true;
        }
        boolean started = false;
        try {
            ListenAddress.require(settings.host(), settings.port());
            ModelFolder.require(settings.model());
            requireProvider();
            KvLayout layout = KvLayout.of(
                    ModelConfig.read(settings.model()), settings.engine().kv().format());
            requireMemory(layout);
            requireCache(layout);
            startServices(progress);
            started = true;
        } finally {
            boolean abandoned;
            synchronized (this) {
                startEnded = true;
                abandoned = !started || closing;
            }
            if (abandoned) {
                release();
            }
        }
    }

    /// `auto` always finds one.
    private void requireProvider() {
        String provider = settings.engine().kernels().provider();
        if (provider.equals("auto")) {
            return;
        }
        try {
            KernelProviders.select(provider, 1).kernels().close();
        } catch (IllegalArgumentException e) {
            throw new MillraceException(ErrorCode.INVALID_REQUEST, String.valueOf(e.getMessage()), e);
        }
    }

    /// Prefill and decode take a pool each. Asked before the work of loading, and after it, when the process
    /// may hold the weights, too.
    private void requireMemory(KvLayout layout) {
        int pages = settings.engine().kv().poolPages();
        PagePool.requireMemory(layout, pages, "a KV pool each for prefill and decode, together", 2);
    }

    /// A cache that holds no block would never give anybody a hit.
    private void requireCache(KvLayout layout) {
        String capacity = settings.serviceKeys().get(CACHE_CAPACITY);
        if (capacity == null) {
            return;
        }
        long blockBytes = layout.blockBytes();
        if (new BigInteger(capacity).compareTo(BigInteger.valueOf(blockBytes)) < 0) {
            throw new MillraceException(
                    ErrorCode.INVALID_REQUEST,
                    CACHE_CAPACITY + ": " + capacity + " (expected: at least " + blockBytes + ", one block of "
                            + KvLayout.PAGE_TOKENS + " tokens of this model)");
        }
    }

    /// Loading takes longest and the first context pays for all classes of the framework, so these two
    /// go side by side, once tokenizer and chat template are found sound; then prefill and decode; the
    /// gateway needs the ports of all.
    private void startServices(LoadProgress progress) {
        try (ExecutorService starters = Executors.newThreadPerTaskExecutor(
                Thread.ofPlatform().name("suite-start-", 0).daemon().factory())) {
            Future<ConfigurableApplicationContext> caching = starters.submit(this::startKvCache);
            ServedModel readModel = await(starters.submit(this::read));
            Future<LoadedModel> loading = starters.submit(() -> load(progress));
            String cache = ServiceStart.target(await(caching));
            LoadedModel loaded = await(loading);
            requireMemory(loaded.layout());
            Future<ConfigurableApplicationContext> prefilling =
                    starters.submit(() -> startPrefill(loaded, readModel, cache));
            Future<ConfigurableApplicationContext> decoding =
                    starters.submit(() -> startDecode(loaded, readModel, cache));
            String prefill = ServiceStart.target(await(prefilling));
            String decode = ServiceStart.target(await(decoding));
            await(starters.submit(() -> startGateway(readModel, prefill, decode, cache)));
        }
    }

    private LoadedModel load(LoadProgress progress) {
        LoadedModel loaded = LoadedModel.load(settings.model(), settings.engine(), progress);
        synchronized (this) {
            model = loaded;
        }
        return loaded;
    }

    private ServedModel read() {
        ServedModel read = ServedModelLoader.load(settings.model(), settings.servedModelName());
        synchronized (this) {
            served = read;
        }
        return read;
    }

    private ConfigurableApplicationContext startKvCache() {
        return keep(
                SuiteService.KV_CACHE,
                new ServiceStart(KvCacheApplication.builder(), "io/millrace/kvcache")
                        .rpcOnly()
                        .set("millrace.kv-cache.", settings.serviceKeys())
                        .run());
    }

    private ConfigurableApplicationContext startPrefill(LoadedModel loaded, ServedModel read, String cache) {
        return keep(
                SuiteService.PREFILL,
                new ServiceStart(PrefillApplication.builder(), "io/millrace/prefill")
                        .rpcOnly()
                        .set("millrace.model.served-name", read.name())
                        .set("millrace.prefill.instance", "prefill")
                        .set("millrace.prefill.", settings.serviceKeys())
                        .set("millrace.prefill.kv-cache-targets", cache)
                        .beans(Map.of("loadedModel", loaded, "serviceFailure", onFailure()))
                        .run());
    }

    private ConfigurableApplicationContext startDecode(LoadedModel loaded, ServedModel read, String cache) {
        return keep(
                SuiteService.DECODE,
                new ServiceStart(DecodeApplication.builder(), "io/millrace/decode")
                        .rpcOnly()
                        .set("millrace.model.served-name", read.name())
                        .set("millrace.decode.instance", "decode")
                        .set("millrace.decode.", settings.serviceKeys())
                        .set("millrace.decode.kv-cache-targets", cache)
                        .beans(Map.of(
                                "loadedModel", loaded, "tokenizer", read.tokenizer(), "serviceFailure", onFailure()))
                        .run());
    }

    private ConfigurableApplicationContext startGateway(ServedModel read, String prefill, String decode, String cache) {
        try {
            return keep(
                    SuiteService.GATEWAY,
                    new ServiceStart(GatewayApplication.builder(), "io/millrace/gateway")
                            .restOnly(settings.host(), settings.port(), settings.grace())
                            .set("millrace.gateway.prefill-targets", prefill)
                            .set("millrace.gateway.decode-targets", decode)
                            .set("millrace.gateway.kv-cache-targets", cache)
                            // A decode service that died takes the gateway with it: nothing to wait for.
                            .set("millrace.gateway.retries.resume-wait", "0s")
                            .set("millrace.gateway.", settings.serviceKeys())
                            .beans(Map.of("servedModel", read))
                            .run());
        } catch (RuntimeException e) {
            // Taken between the look and the start.
            for (Throwable cause = e; cause != null; cause = cause.getCause()) {
                boolean isFound = cause instanceof MillraceException
                        && String.valueOf(cause.getMessage()).startsWith("server.port: ");
                if (isFound || cause instanceof PortInUseException) {
                    throw ListenAddress.portInUse(settings.port(), e);
                }
            }
            throw e;
        }
    }

    private synchronized ConfigurableApplicationContext keep(
            SuiteService service, ConfigurableApplicationContext context) {
        contexts.put(service, context);
        return context;
    }

    /// What whoever gave the settings is told, be the fault wrapped by a service's beans or not.
    private static RuntimeException refusal(@Nullable Throwable failure) {
        if (failure instanceof MillraceException known) {
            return known;
        }
        Optional<String> sentence = failure == null ? Optional.empty() : StartFailure.sentence(failure);
        if (sentence.isEmpty() && failure instanceof IllegalArgumentException) {
            sentence = Optional.ofNullable(failure.getMessage());
        }
        return sentence.<RuntimeException>map(said -> new MillraceException(ErrorCode.INVALID_REQUEST, said, failure))
                .orElseGet(() -> new IllegalStateException("the suite did not start", failure));
    }

    private static <T> T await(Future<T> future) {
        try {
            return future.get();
        } catch (ExecutionException e) {
            throw refusal(e.getCause());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new MillraceException(ErrorCode.CANCELLED, "the start was interrupted", e);
        }
    }

    /// Where the REST surface answers.
    public URI url() {
        boolean everywhere =
                settings.host().equals("0.0.0.0") || settings.host().equals("::");
        String host = everywhere ? SuiteSettings.LOOPBACK : settings.host();
        String port = context(SuiteService.GATEWAY).getEnvironment().getRequiredProperty("local.server.port");
        return URI.create("http://" + (host.indexOf(':') >= 0 ? "[" + host + "]" : host) + ":" + port);
    }

    /// Counters of one service.
    public MeterRegistry meters(SuiteService service) {
        return context(service).getBean(MeterRegistry.class);
    }

    private synchronized ConfigurableApplicationContext context(SuiteService service) {
        ConfigurableApplicationContext context = contexts.get(service);
        if (context == null) {
            throw new IllegalStateException(service + " does not run");
        }
        return context;
    }

    /// Requests that a close would give their grace period; 0 while the gateway does not run.
    public int requestsUnderWay() {
        ConfigurableApplicationContext gateway;
        synchronized (this) {
            gateway = contexts.get(SuiteService.GATEWAY);
        }
        return gateway == null ? 0 : gateway.getBean(RequestsUnderWay.class).count();
    }

    /// Whether somebody has asked for the end; what fails from then on fails because of that.
    public boolean isClosing() {
        return closing;
    }

    /// Why the suite ended without being asked to: one of its services can serve no more.
    public Optional<String> failure() {
        return Optional.ofNullable(failure.get());
    }

    private ServiceFailure onFailure() {
        return this::fail;
    }

    /// Called by a loop thread, which a close that is under way may wait for: it takes no lock.
    private void fail(String reason) {
        if (!closing && failure.compareAndSet(null, reason)) {
            Thread.ofPlatform().name("suite-failed").start(this::close);
        }
    }

    /// Waits until the suite is closed.
    public void awaitClosed() {
        try {
            closed.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /// Ends the services in reverse order: the gateway first, which gives requests under way their grace
    /// period, so that nobody asks those behind it any more. While the suite starts this only leaves word; the
    /// start then undoes itself. Idempotent.
    @Override
    public void close() {
        synchronized (this) {
            if (closing) {
                return;
            }
            closing = true;
            if (startBegun && !startEnded) {
                return;
            }
        }
        release();
    }

    private synchronized void release() {
        SuiteService[] services = SuiteService.values();
        for (int i = services.length - 1; i >= 0; i--) {
            ConfigurableApplicationContext context = contexts.remove(services[i]);
            if (context != null) {
                log.info("closing {}", services[i]);
                context.close();
            }
        }
        if (served != null) {
            served.close();
            served = null;
        }
        if (model != null) {
            model.close();
            model = null;
        }
        closed.countDown();
    }
}
