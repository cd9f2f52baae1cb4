package io.millrace.gateway.router;

import com.google.protobuf.ByteString;
import io.grpc.Channel;
import io.grpc.Context;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.millrace.engine.kv.KvNamespace;
import io.millrace.proto.v1.DescribeResponse;
import io.millrace.rpc.ServiceChannel;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/// One process behind the gateway: its channel, what it last said about itself, and the calls it is
/// working on for us.
public final class ServingInstance {
    private static final int DIGEST_BYTES = 32;
    private static final int MAX_MESSAGE_BYTES = 64 * 1024 * 1024;

    private final ManagedChannel channel;
    private final Set<Call> outstanding = ConcurrentHashMap.newKeySet();
    private final AtomicInteger misses = new AtomicInteger();
    private volatile long heardNanos = System.nanoTime();
    private int silentMisses;
    private long silentSinceNanos;
    private volatile @Nullable Known known;
    private volatile String name;
    private volatile long lastBegun;

    ServingInstance(String target) {
        this.name = target;
        this.channel = ServiceChannel.open(target, MAX_MESSAGE_BYTES);
    }

    /// What an instance said, and the namespace of its KV blocks: empty where it makes none.
    private record Known(DescribeResponse description, Optional<ByteString> namespace) {
        static Known of(DescribeResponse description) {
            boolean complete = description.getWeightsDigest().size() == DIGEST_BYTES
                    && description.getAdapterDigest().size() == DIGEST_BYTES;
            return new Known(
                    description,
                    complete
                            ? Optional.of(ByteString.copyFrom(KvNamespace.compute(
                                            description.getWeightsDigest().toByteArray(),
                                            description.getAdapterDigest().toByteArray(),
                                            new byte[DIGEST_BYTES],
                                            description.getNumericsId(),
                                            description.getLayoutId())
                                    .bytes()))
                            : Optional.empty());
        }
    }

    public Channel channel() {
        return channel;
    }

    /// Its own name, as it said it last; its address until then.
    public String name() {
        return name;
    }

    public Optional<DescribeResponse> description() {
        return Optional.ofNullable(known).map(Known::description);
    }

    /// Namespace of the KV blocks it computes and reads without a tenant; empty while unknown. Two
    /// instances can hand
    /// blocks to each other when their namespaces are equal.
    Optional<ByteString> namespace() {
        return Optional.ofNullable(known).flatMap(Known::namespace);
    }

    int outstanding() {
        return outstanding.size();
    }

    void described(DescribeResponse response) {
        heard();
        misses.set(0);
        if (!response.getInstance().isEmpty()) {
            name = response.getInstance();
        }
        known = Known.of(response);
    }

    /// Something of it arrived.
    public void heard() {
        heardNanos = System.nanoTime();
    }

    /// It did not answer in time; how often in a row it did not.
    ///
    /// @param askedNanos  when it was asked
    synchronized int missed(long askedNanos) {
        if (silentMisses == 0 || heardNanos - silentSinceNanos >= 0) {
            silentSinceNanos = askedNanos;
            silentMisses = 0;
        }
        silentMisses++;
        return misses.incrementAndGet();
    }

    /// Ends its calls as unavailable if nothing at all has arrived while it missed so many answers: a peer that
    /// vanished without a word breaks no connection.
    ///
    /// @return how many calls
    synchronized int endSilentCalls(int tolerated) {
        if (silentMisses < tolerated || heardNanos - silentSinceNanos >= 0) {
            return 0;
        }
        int ended = 0;
        for (Call call : outstanding) {
            call.context.cancel(Status.UNAVAILABLE
                    .withDescription(name + " answers no more")
                    .asRuntimeException());
            ended++;
        }
        return ended;
    }

    /// It did not answer: no new calls until it describes itself again.
    public void lost() {
        known = null;
    }

    /// Ends the wait between attempts to connect, if it is in one.
    void reconnect() {
        if (known == null) {
            channel.resetConnectBackoff();
        }
    }

    /// Number of the last call that began here, 0 before the first.
    long lastBegun() {
        return lastBegun;
    }

    /// Counts a call as outstanding until closed.
    ///
    /// @param number  higher than that of any call before
    Call begin(long number) {
        lastBegun = number;
        Call call = new Call();
        outstanding.add(call);
        return call;
    }

    /// Running calls end by themselves.
    void close() {
        channel.shutdown();
    }

    /// An outstanding call; the instance's end without a word ends it.
    public final class Call implements AutoCloseable {
        private final Context.CancellableContext context = Context.current().withCancellation();

        private Call() {}

        /// The one that is called.
        public ServingInstance instance() {
            return ServingInstance.this;
        }

        /// Does what belongs to the call, at least its begin.
        public <T> T within(Supplier<T> work) {
            Context outer = context.attach();
            try {
                return work.get();
            } finally {
                context.detach(outer);
            }
        }

        /// Cancels what still runs of it.
        @Override
        public void close() {
            outstanding.remove(this);
            context.cancel(null);
        }
    }
}
