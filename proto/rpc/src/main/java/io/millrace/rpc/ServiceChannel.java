package io.millrace.rpc;

import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import java.util.concurrent.TimeUnit;

/// Opens the channels between the services. A connection whose peer vanished without a word (its host is
/// lost, the network cut) answers no ping, and is given up: its calls end as unavailable 15 s after the last byte
/// arrived. Nothing is pinged while a connection is being made: a call that waits for one ends at its own deadline.
public final class ServiceChannel {
    /// gRPC takes no less. Only a connection that nothing arrives on is pinged.
    private static final long KEEP_ALIVE_SECONDS = 10;

    private static final long KEEP_ALIVE_TIMEOUT_SECONDS = 5;

    private ServiceChannel() {}

    /// @param target           as gRPC takes it
    /// @param maxMessageBytes  largest message accepted
    public static ManagedChannel open(String target, int maxMessageBytes) {
        return Grpc.newChannelBuilder(target, InsecureChannelCredentials.create())
                .keepAliveTime(KEEP_ALIVE_SECONDS, TimeUnit.SECONDS)
                .keepAliveTimeout(KEEP_ALIVE_TIMEOUT_SECONDS, TimeUnit.SECONDS)
                .maxInboundMessageSize(maxMessageBytes)
                .build();
    }
}
