package io.millrace.gateway.router;

import com.google.protobuf.ByteString;
import io.grpc.Channel;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.millrace.engine.kv.KvNamespace;
import io.millrace.proto.v1.DescribeResponse;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/// One process behind the gateway: its channel, what it last said about itself, and the calls it is
/// working on for us.
public final class ServingInstance {
    private static final int DIGEST_BYTES = 32;
    private static final int MAX_MESSAGE_BYTES = 64 * 1024 * 1024;

    private final String target;
    private final ManagedChannel channel;
    private final AtomicInteger outstanding = new AtomicInteger();
    private final AtomicInteger misses = new AtomicInteger();
    private volatile @Nullable Known known;

    ServingInstance(String target) {
        this.target = target;
        this.channel = Grpc.newChannelBuilder(target, InsecureChannelCredentials.create())
                .maxInboundMessageSize(MAX_MESSAGE_BYTES)
                .build();
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

    /// Its own name, or its address as long as it is unknown.
    public String name() {
        String name = description().map(DescribeResponse::getInstance).orElse("");
        return name.isEmpty() ? target : name;
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
        return outstanding.get();
    }

    void described(DescribeResponse response) {
        misses.set(0);
        known = Known.of(response);
    }

    /// It did not answer in time; how often in a row it did not.
    int missed() {
        return misses.incrementAndGet();
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

    /// Counts a call as outstanding until closed.
    public Call begin() {
        outstanding.incrementAndGet();
        return outstanding::decrementAndGet;
    }

    /// Running calls end by themselves.
    void close() {
        channel.shutdown();
    }

    /// An outstanding call.
    public interface Call extends AutoCloseable {
        @Override
        void close();
    }
}
