package io.millrace.rpc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.grpc.Grpc;
import io.grpc.InsecureServerCredentials;
import io.grpc.ManagedChannel;
import io.grpc.Server;
import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import io.millrace.proto.v1.EventsRequest;
import io.millrace.proto.v1.KvCacheServiceGrpc;
import io.millrace.proto.v1.KvEvent;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/// A peer that vanishes without a word ends the calls to it, though nobody asks after it.
class ServiceChannelTest {
    private final List<StreamObserver<KvEvent>> calls = new CopyOnWriteArrayList<>();
    private Server server;
    private StallingProxy network;
    private ManagedChannel channel;

    @BeforeEach
    void start() throws IOException {
        // As the services are set, see their application.yaml.
        server = Grpc.newServerBuilderForPort(0, InsecureServerCredentials.create())
                .permitKeepAliveTime(5, TimeUnit.SECONDS)
                .permitKeepAliveWithoutCalls(true)
                .addService(new KvCacheServiceGrpc.KvCacheServiceImplBase() {
                    @Override
                    public void events(EventsRequest request, StreamObserver<KvEvent> responses) {
                        calls.add(responses);
                    }
                })
                .build()
                .start();
        network = new StallingProxy(server.getPort());
        channel = ServiceChannel.open("127.0.0.1:" + network.port(), 1 << 20);
    }

    @AfterEach
    void stop() throws IOException {
        channel.shutdownNow();
        network.close();
        server.shutdownNow();
    }

    /// A call without end, and how it ended.
    private static final class Call implements StreamObserver<KvEvent> {
        final AtomicInteger events = new AtomicInteger();
        final CompletableFuture<Status> end = new CompletableFuture<>();

        @Override
        public void onNext(KvEvent event) {
            events.incrementAndGet();
        }

        @Override
        public void onError(Throwable failure) {
            end.complete(Status.fromThrowable(failure));
        }

        @Override
        public void onCompleted() {
            end.complete(Status.OK);
        }
    }

    private Call call() {
        Call call = new Call();
        KvCacheServiceGrpc.newStub(channel)
                .withDeadlineAfter(5, TimeUnit.MINUTES)
                .events(EventsRequest.getDefaultInstance(), call);
        return call;
    }

    @Test
    void endsCallsOverANetworkThatIsCut() {
        Call streaming = call();
        await().until(() -> calls.size() == 1);
        Call unanswered = call();
        await().until(() -> calls.size() == 2);
        calls.getFirst().onNext(KvEvent.getDefaultInstance());
        await().until(() -> streaming.events.get() == 1);

        network.cut();
        long cutNanos = System.nanoTime();

        assertThat(streaming.end.join().getCode()).isEqualTo(Status.Code.UNAVAILABLE);
        assertThat(unanswered.end.join().getCode()).isEqualTo(Status.Code.UNAVAILABLE);
        assertThat(Duration.ofNanos(System.nanoTime() - cutNanos)).isLessThan(Duration.ofSeconds(60));
        assertThat(calls).hasSize(2);
    }
}
