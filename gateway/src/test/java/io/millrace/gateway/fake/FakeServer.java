package io.millrace.gateway.fake;

import io.grpc.BindableService;
import io.grpc.Grpc;
import io.grpc.InsecureServerCredentials;
import io.grpc.Server;
import io.grpc.ServerBuilder;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;

/// A gRPC server on a free port of the loopback interface.
public final class FakeServer implements AutoCloseable {
    private final Server server;

    public FakeServer(BindableService service) {
        this(service, 0);
    }

    /// @param port  0 for a free one
    public FakeServer(BindableService service, int port) {
        ServerBuilder<?> builder = Grpc.newServerBuilderForPort(port, InsecureServerCredentials.create());
        try {
            server = builder.addService(service)
                    .permitKeepAliveTime(5, TimeUnit.SECONDS)
                    .executor(Executors.newVirtualThreadPerTaskExecutor())
                    .build()
                    .start();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    public int port() {
        return server.getPort();
    }

    public String target() {
        return "static://localhost:" + server.getPort();
    }

    @Override
    public void close() {
        server.shutdownNow();
        try {
            server.awaitTermination(10, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
