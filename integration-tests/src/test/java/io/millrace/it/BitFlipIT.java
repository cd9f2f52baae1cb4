package io.millrace.it;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.micrometer.core.instrument.MeterRegistry;
import io.millrace.decode.DecodeApplication;
import io.millrace.engine.model.LoadProgress;
import io.millrace.engine.model.LoadedModel;
import io.millrace.engine.settings.EngineSettings;
import io.millrace.it.process.ServiceProcess;
import io.millrace.kvcache.KvCacheApplication;
import io.millrace.kvcache.store.BlockStore;
import io.millrace.kvcache.store.StoredBit;
import io.millrace.prefill.PrefillApplication;
import io.millrace.proto.v1.DecodeRequest;
import io.millrace.proto.v1.DecodeServiceGrpc;
import io.millrace.proto.v1.GenerateEvent;
import io.millrace.proto.v1.GenerateRequest;
import io.millrace.proto.v1.PrefillReply;
import io.millrace.proto.v1.PrefillServiceGrpc;
import io.millrace.proto.v1.Sampling;
import io.millrace.rpc.MetricNames;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.grpc.server.lifecycle.GrpcServerLifecycle;

/// One changed bit of a stored block: the numbers show it where nobody checks, so the blocks are what
/// decode computes from; where the checksum is checked, it costs computing and nothing else.
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class BitFlipIT {
    private static final Path MODEL = ServiceProcess.root().resolve("models/mini");
    private static final int BLOCK_TOKENS = 64;
    private static final int TAIL_TOKENS = 20;
    private static final int FIRST_LAYER = 0;
    /// The upper byte of the first latent number: its exponent changes.
    private static final int LATENT_EXPONENT = 1;

    private final LoadedModel model = LoadedModel.load(MODEL, EngineSettings.defaults(), LoadProgress.SILENT);
    private final List<ManagedChannel> channels = new ArrayList<>();
    private final List<ConfigurableApplicationContext> contexts = new ArrayList<>();
    private final BlockStore store;
    private final PrefillServiceGrpc.PrefillServiceBlockingStub prefill;
    private final ConfigurableApplicationContext careful;
    private final ConfigurableApplicationContext trusting;

    BitFlipIT() {
        ConfigurableApplicationContext cache = start(KvCacheApplication.builder(), "kvcache");
        String target = target(cache);
        this.store = cache.getBean(BlockStore.class);
        String prefillTarget =
                target(start(PrefillApplication.builder(), "prefill", "millrace.prefill.kv-cache-targets=" + target));
        this.prefill = PrefillServiceGrpc.newBlockingStub(channel(prefillTarget));
        this.careful = decode(target, true);
        this.trusting = decode(target, false);
    }

    private ConfigurableApplicationContext decode(String cache, boolean checksumsVerified) {
        return start(
                DecodeApplication.builder(),
                "decode",
                "millrace.model.path=" + MODEL,
                "millrace.decode.kv-cache-targets=" + cache,
                "millrace.decode.verify-checksums=" + checksumsVerified);
    }

    private ConfigurableApplicationContext start(SpringApplicationBuilder builder, String folder, String... settings) {
        List<String> arguments = new ArrayList<>();
        for (String setting : settings) {
            arguments.add("--" + setting);
        }
        arguments.addAll(List.of(
                "--spring.config.location=classpath:/io/millrace/" + folder + "/",
                "--spring.grpc.server.port=0",
                "--management.metrics.use-global-registry=false"));
        ConfigurableApplicationContext context = builder.web(WebApplicationType.NONE)
                .initializers(created -> created.getBeanFactory().registerSingleton("loadedModel", model))
                .run(arguments.toArray(String[]::new));
        contexts.add(context);
        return context;
    }

    private static String target(ConfigurableApplicationContext context) {
        return "localhost:" + context.getBean(GrpcServerLifecycle.class).getPort();
    }

    private ManagedChannel channel(String target) {
        ManagedChannel channel = Grpc.newChannelBuilder(target, InsecureChannelCredentials.create())
                .build();
        channels.add(channel);
        return channel;
    }

    @AfterAll
    void stop() {
        channels.forEach(ManagedChannel::shutdownNow);
        contexts.reversed().forEach(ConfigurableApplicationContext::close);
        model.close();
    }

    /// A prompt of two blocks and a tail; prompts of different keys share no block.
    private static GenerateRequest request(int key, String attempt) {
        return GenerateRequest.newBuilder()
                .setRequestId("flip-" + key + attempt)
                .setLeaseId("flip-" + key + attempt + "/0/0")
                .addAllPromptIds(IntStream.range(0, 2 * BLOCK_TOKENS + TAIL_TOKENS)
                        .mapToObj(i -> 100 + (key * 977 + i * 31) % 3000)
                        .toList())
                .setSampling(Sampling.newBuilder().setTemperature(0).setTopLogprobs(4))
                .setSeed(1)
                .setMaxTokens(12)
                .build();
    }

    private PrefillReply prefilled(GenerateRequest request) {
        PrefillReply reply = prefill.withDeadlineAfter(30, TimeUnit.SECONDS).prefill(request);
        assertThat(reply.getBlocksStored()).isTrue();
        assertThat(reply.getBlockIdsCount()).isEqualTo(2);
        assertThat(reply.getTail().getTokens()).isEqualTo(TAIL_TOKENS);
        return reply;
    }

    /// Tokens and log-probabilities as decode continues.
    private List<String> decoded(ConfigurableApplicationContext decode, GenerateRequest request, PrefillReply reply) {
        List<String> tokens = new ArrayList<>();
        DecodeServiceGrpc.newBlockingStub(channel(target(decode)))
                .withDeadlineAfter(30, TimeUnit.SECONDS)
                .generate(DecodeRequest.newBuilder()
                        .setRequest(request)
                        .setPrefill(reply)
                        .build())
                .forEachRemaining(event -> addTokens(event, tokens));
        assertThat(tokens).hasSizeGreaterThan(1);
        return tokens;
    }

    private static void addTokens(GenerateEvent event, List<String> tokens) {
        for (int i = 0; i < event.getTokens().getIdsCount(); i++) {
            tokens.add(event.getTokens().getIds(i) + " "
                    + event.getTokens().getTopLogprobs(i).getEntriesList());
        }
    }

    private List<String> undisturbed(int key) {
        GenerateRequest request = request(key, "-whole");
        return decoded(careful, request, prefilled(request));
    }

    private static Map<String, Double> counts(ConfigurableApplicationContext decode) {
        MeterRegistry meters = decode.getBean(MeterRegistry.class);
        Map<String, Double> counts = new HashMap<>();
        for (String name : List.of(MetricNames.KV_RECOMPUTED_TOKENS, MetricNames.DECODE_PROMPT_TOKENS_COMPUTED)) {
            counts.put(
                    name, meters.get(name).meter().measure().iterator().next().getValue());
        }
        return counts;
    }

    @Test
    void oneBitOfABlockChangesTheNumbersWhereNobodyChecks() {
        List<String> expected = undisturbed(1);
        GenerateRequest request = request(1, "-flipped");
        PrefillReply reply = prefilled(request);
        ByteString block = reply.getBlockIds(0);

        assertThat(StoredBit.damage(store, block, FIRST_LAYER, LATENT_EXPONENT)).isTrue();
        List<String> found = decoded(trusting, request, reply);

        assertThat(found.getFirst()).as("prefill's own token").isEqualTo(expected.getFirst());
        assertThat(found).isNotEqualTo(expected);
    }

    @Test
    void oneBitOfTheTailChangesTheNumbersToo() {
        List<String> expected = undisturbed(2);
        GenerateRequest request = request(2, "-flipped");
        PrefillReply reply = prefilled(request);

        assertThat(StoredBit.flip(store, reply.getTail().getId(), FIRST_LAYER, LATENT_EXPONENT))
                .isTrue();
        List<String> found = decoded(careful, request, reply);

        assertThat(found.getFirst()).as("prefill's own token").isEqualTo(expected.getFirst());
        assertThat(found).isNotEqualTo(expected);
    }

    @Test
    void whereTheChecksumIsCheckedDamageCostsOnlyComputing() {
        List<String> expected = undisturbed(3);
        GenerateRequest request = request(3, "-damaged");
        PrefillReply reply = prefilled(request);
        Map<String, Double> before = counts(careful);

        assertThat(StoredBit.damage(store, reply.getBlockIds(1), FIRST_LAYER, LATENT_EXPONENT))
                .isTrue();
        List<String> found = decoded(careful, request, reply);

        assertThat(found).isEqualTo(expected);
        Map<String, Double> after = counts(careful);
        int tokens = request.getPromptIdsCount();
        after.forEach((name, count) -> assertThat(count).as(name).isEqualTo(before.getOrDefault(name, 0.0) + tokens));
    }

    @Test
    void prefillDoesNotUseADamagedBlockEither() {
        List<String> expected = undisturbed(4);
        GenerateRequest request = request(4, "-again");
        PrefillReply first = prefilled(request(4, "-once-more"));
        assertThat(first.getCachedTokens().getMemory()).isEqualTo(2 * BLOCK_TOKENS);

        assertThat(StoredBit.damage(store, first.getBlockIds(0), FIRST_LAYER, LATENT_EXPONENT))
                .isTrue();
        PrefillReply reply = prefill.withDeadlineAfter(30, TimeUnit.SECONDS).prefill(request);

        assertThat(reply.getCachedTokens().getMemory()).isZero();
        assertThat(decoded(careful, request, reply)).isEqualTo(expected);

        GenerateRequest next = request(4, "-next");
        PrefillReply healed = prefilled(next);
        assertThat(healed.getCachedTokens().getMemory())
                .as("the damaged block was replaced")
                .isEqualTo(2 * BLOCK_TOKENS);
        assertThat(decoded(careful, next, healed)).isEqualTo(expected);
    }
}
