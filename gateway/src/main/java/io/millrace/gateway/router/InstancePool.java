package io.millrace.gateway.router;

import io.grpc.Channel;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.millrace.proto.v1.DescribeResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/// All instances of one service. Targets are resolved and every instance asked to describe itself again
/// and again; one
/// that does not answer gets no calls until it does. Of a target that nobody answers at the log tells once.
final class InstancePool {
    private static final Logger log = LoggerFactory.getLogger(InstancePool.class);

    private static final int TOLERATED_MISSES = 3;
    private static final Duration SILENCE = Duration.ofSeconds(10);
    private static final Comparator<ServingInstance> LOAD =
            Comparator.comparingInt(ServingInstance::outstanding).thenComparingLong(ServingInstance::lastBegun);

    private final String service;
    private final List<String> targets;
    private final Describe describe;
    private final Duration timeout;
    private final LongSupplier nanoTime;
    private final SilentTargets silentTargets = new SilentTargets(SILENCE);
    private final Map<String, ServingInstance> instances = new ConcurrentHashMap<>();
    private final Object choice = new Object();
    private long begun;
    private final AtomicLong refreshes = new AtomicLong();
    private boolean closed;

    /// The service's own Describe call.
    interface Describe {
        DescribeResponse call(Channel channel, Duration timeout);
    }

    InstancePool(String service, List<String> targets, Describe describe, Duration timeout) {
        this(service, targets, describe, timeout, System::nanoTime);
    }

    /// @param nanoTime  the clock by which targets are silent
    InstancePool(String service, List<String> targets, Describe describe, Duration timeout, LongSupplier nanoTime) {
        this.service = service;
        this.targets = List.copyOf(targets);
        this.describe = describe;
        this.timeout = timeout;
        this.nanoTime = nanoTime;
    }

    /// Resolves the targets and asks every instance once, all at the same time; returns when all
    /// answered or timed out.
    /// Callers that come while another is at it share its answers.
    void refresh() {
        long seen = refreshes.get();
        synchronized (this) {
            if (refreshes.get() == seen && !closed) {
                pollAll();
                refreshes.incrementAndGet();
            }
        }
    }

    private void pollAll() {
        Map<String, List<String>> addresses = new LinkedHashMap<>();
        targets.forEach(target -> addresses.put(target, GrpcTargets.resolve(List.of(target))));
        Set<String> resolved = new LinkedHashSet<>();
        addresses.values().forEach(resolved::addAll);
        Set<String> gone = new HashSet<>(instances.keySet());
        gone.removeAll(resolved);
        for (String target : gone) {
            ServingInstance instance = instances.remove(target);
            if (instance != null) {
                log.info("{} {} is no longer a target", service, target);
                instance.close();
            }
        }
        Map<String, Status.Code> refusals = new ConcurrentHashMap<>();
        try (ExecutorService polls = Executors.newVirtualThreadPerTaskExecutor()) {
            for (String address : resolved) {
                ServingInstance instance = instances.computeIfAbsent(address, ServingInstance::new);
                polls.execute(() -> poll(instance).ifPresent(refusal -> refusals.put(address, refusal)));
            }
        }
        addresses.forEach((target, found) -> tellSilence(target, found, refusals));
    }

    /// @param refusals  why addresses did not answer this time
    private void tellSilence(String target, List<String> addresses, Map<String, Status.Code> refusals) {
        if (addresses.stream().map(instances::get).anyMatch(InstancePool::isKnown)) {
            silentTargets.answered(target);
        } else if (silentTargets.isToTell(target, nanoTime.getAsLong())) {
            String why = addresses.isEmpty()
                    ? "its name has no address"
                    : addresses.stream()
                            .map(refusals::get)
                            .filter(Objects::nonNull)
                            .distinct()
                            .map(Status.Code::name)
                            .collect(Collectors.joining(", "));
            log.warn("{} {} has not answered for {} s: {}", service, target, SILENCE.toSeconds(), why);
        }
    }

    private static boolean isKnown(@Nullable ServingInstance instance) {
        return instance != null && instance.description().isPresent();
    }

    /// @return why it did not answer, if it did not
    private Optional<Status.Code> poll(ServingInstance instance) {
        boolean known = instance.description().isPresent();
        long askedNanos = System.nanoTime();
        try {
            instance.reconnect();
            instance.described(describe.call(instance.channel(), timeout));
            if (!known) {
                log.info("{} {} is up", service, instance.name());
            }
            return Optional.empty();
        } catch (StatusRuntimeException e) {
            if (Thread.currentThread().isInterrupted()) {
                // The gateway ends; that says nothing about the instance.
                return Optional.empty();
            }
            // A slow answer on a busy machine is no outage; several in a row are.
            boolean slow = e.getStatus().getCode() == Status.Code.DEADLINE_EXCEEDED;
            boolean silent = slow && instance.missed(askedNanos) >= TOLERATED_MISSES;
            if (known && slow && !silent) {
                return Optional.of(e.getStatus().getCode());
            }
            if (known) {
                log.warn(
                        "{} {} is down: {}",
                        service,
                        instance.name(),
                        e.getStatus().getCode());
            }
            instance.lost();
            int ended = silent ? instance.endSilentCalls(TOLERATED_MISSES) : 0;
            if (ended > 0) {
                log.warn("{} {} answers no more: {} calls to it are ended", service, instance.name(), ended);
            }
            return Optional.of(e.getStatus().getCode());
        }
    }

    /// Instances that answered the last time.
    List<ServingInstance> ready() {
        return instances.values().stream()
                .filter(instance -> instance.description().isPresent())
                .toList();
    }

    /// Begins a call to the ready instance with the fewest outstanding ones, of several to the one whose last call
    /// began
    /// before those of the others; to one of the avoided only when there is no other. Calls that begin at the same
    /// moment see each other.
    Optional<ServingInstance.Call> begin(Predicate<ServingInstance> suitable, Set<ServingInstance> avoided) {
        List<ServingInstance> candidates =
                new ArrayList<>(ready().stream().filter(suitable).toList());
        if (candidates.stream().anyMatch(candidate -> !avoided.contains(candidate))) {
            candidates.removeAll(avoided);
        }
        synchronized (choice) {
            return candidates.stream().min(LOAD).map(chosen -> chosen.begin(++begun));
        }
    }

    synchronized void close() {
        closed = true;
        instances.values().forEach(ServingInstance::close);
        instances.clear();
    }
}
