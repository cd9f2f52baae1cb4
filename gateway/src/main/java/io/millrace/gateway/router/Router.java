package io.millrace.gateway.router;

import com.google.protobuf.ByteString;
import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.proto.v1.DecodeServiceGrpc;
import io.millrace.proto.v1.DescribeRequest;
import io.millrace.proto.v1.DescribeResponse;
import io.millrace.proto.v1.PrefillServiceGrpc;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/// Picks instances: the least loaded prefill that a decode instance can take over from, the least
/// loaded decode.
public final class Router implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(Router.class);

    private final InstancePool prefill;
    private final InstancePool decode;
    private final Settings settings;
    private volatile @Nullable Thread poller;

    /// Where the instances are and how they are watched.
    ///
    /// @param smallPromptTokens  prompts of at most this many tokens are computed by decode itself; 0:
    ///                           none
    public record Settings(
            List<String> prefillTargets,
            List<String> decodeTargets,
            int smallPromptTokens,
            Duration describeInterval,
            Duration describeTimeout) {}

    public Router(Settings settings) {
        this.settings = settings;
        this.prefill = new InstancePool(
                "prefill-service",
                settings.prefillTargets(),
                (channel, timeout) -> PrefillServiceGrpc.newBlockingStub(channel)
                        .withDeadlineAfter(timeout.toMillis(), TimeUnit.MILLISECONDS)
                        .describe(DescribeRequest.getDefaultInstance()),
                settings.describeTimeout());
        this.decode = new InstancePool(
                "decode-service",
                settings.decodeTargets(),
                (channel, timeout) -> DecodeServiceGrpc.newBlockingStub(channel)
                        .withDeadlineAfter(timeout.toMillis(), TimeUnit.MILLISECONDS)
                        .describe(DescribeRequest.getDefaultInstance()),
                settings.describeTimeout());
    }

    /// Begins to watch the instances.
    public synchronized void start() {
        if (poller == null) {
            poller = Thread.ofVirtual().name("instance-poller").start(this::poll);
        }
    }

    private void poll() {
        while (!Thread.currentThread().isInterrupted()) {
            try {
                refresh();
            } catch (RuntimeException e) {
                // loop guard: without this loop the gateway would never hear of an instance again.
                log.error("the instances could not be asked", e);
            }
            LockSupport.parkNanos(settings.describeInterval().toNanos());
        }
    }

    private void refresh() {
        decode.refresh();
        prefill.refresh();
    }

    /// Whether a request could be answered now.
    public boolean isReady() {
        return !decode.ready().isEmpty();
    }

    /// The longest context all of the suite's instances allow; empty while none is known.
    public OptionalInt maxContextTokens() {
        return decode.ready().stream()
                .flatMap(instance -> instance.description().stream())
                .mapToInt(DescribeResponse::getMaxContextTokens)
                .filter(tokens -> tokens > 0)
                .max();
    }

    /// The most tokens of prompt and answer that one of the decode instances can hold, by its context and
    /// its KV pool; empty while none is known.
    public OptionalLong servedTokens() {
        return decode.ready().stream()
                .flatMap(instance -> instance.description().stream())
                .mapToLong(Router::servedTokens)
                .filter(tokens -> tokens > 0)
                .max();
    }

    /// 0 where an instance says neither.
    private static long servedTokens(DescribeResponse instance) {
        long context = instance.getMaxContextTokens();
        long pool = instance.getKvPoolTokens();
        return context > 0 && pool > 0 ? Math.min(context, pool) : Math.max(context, pool);
    }

    /// Fails when no decode instance is there; asks all of them once more before it says so.
    ///
    /// @throws MillraceException  `decode_unavailable`
    public void requireDecode() {
        if (decode.ready().isEmpty()) {
            refresh();
        }
        if (decode.ready().isEmpty()) {
            throw new MillraceException(
                    ErrorCode.DECODE_UNAVAILABLE,
                    "No decode instance is available; try again later.",
                    null,
                    1000,
                    null);
        }
    }

    /// Begins a call to the instance that computes this prompt; empty when decode is to do it itself, because the
    /// prompt is small or no prefill instance is available.
    ///
    /// @throws MillraceException  `no_matching_decode` when no prefill instance has a decode instance
    ///                            of its namespace
    public Optional<ServingInstance.Call> beginPrefill(int promptTokens, Set<ServingInstance> avoided) {
        if (isSmall(promptTokens)) {
            return Optional.empty();
        }
        List<ServingInstance> ready = prefill.ready();
        if (ready.isEmpty()) {
            return Optional.empty();
        }
        if (ready.stream().noneMatch(this::hasDecode)) {
            // One of them may have changed since the last look.
            refresh();
            if (prefill.ready().isEmpty()) {
                return Optional.empty();
            }
            if (prefill.ready().stream().noneMatch(this::hasDecode)) {
                throw noMatchingDecode();
            }
        }
        return prefill.begin(
                instance -> hasDecode(instance) && holds(instance, promptTokens) && !avoided.contains(instance),
                Set.of());
    }

    /// Whether decode computes a prompt of this length itself.
    public boolean isSmall(int promptTokens) {
        return promptTokens <= settings.smallPromptTokens();
    }

    private static boolean holds(ServingInstance instance, int promptTokens) {
        return instance.description()
                .map(known -> known.getKvPoolTokens() == 0 || known.getKvPoolTokens() >= promptTokens)
                .orElse(false);
    }

    private boolean hasDecode(ServingInstance instance) {
        Optional<ByteString> namespace = instance.namespace();
        return namespace.isPresent()
                && decode.ready().stream().anyMatch(other -> other.namespace().equals(namespace));
    }

    /// Begins a call to the decode instance for a sequence.
    ///
    /// @param namespace  of the blocks it must be able to read; null: any will do
    /// @param avoided    those that failed already: taken only when there is no other
    /// @throws MillraceException  `no_matching_decode` or `decode_unavailable`
    public ServingInstance.Call beginDecode(@Nullable ByteString namespace, Set<ServingInstance> avoided) {
        Optional<ServingInstance.Call> begun = decode.begin(matching(namespace), avoided);
        if (begun.isEmpty()) {
            refresh();
            requireDecode();
            begun = decode.begin(matching(namespace), avoided);
        }
        return begun.orElseThrow(Router::noMatchingDecode);
    }

    private static Predicate<ServingInstance> matching(@Nullable ByteString namespace) {
        return instance -> namespace == null || instance.namespace().equals(Optional.of(namespace));
    }

    /// How many decode instances of this namespace are ready.
    public int decodeCount(@Nullable ByteString namespace) {
        return (int) decode.ready().stream().filter(matching(namespace)).count();
    }

    private static MillraceException noMatchingDecode() {
        return new MillraceException(
                ErrorCode.NO_MATCHING_DECODE,
                "No decode instance has the weights and KV layout of a prefill instance; try again later.",
                null,
                1000,
                null);
    }

    @Override
    public synchronized void close() {
        Thread running = poller;
        if (running != null) {
            running.interrupt();
            poller = null;
        }
        prefill.close();
        decode.close();
    }
}
