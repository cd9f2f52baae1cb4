package io.millrace.it.process;

import io.millrace.it.rest.RestClient;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;

/// One service as a JVM process of its own, started from the jar that users start. Its ports stay the same
/// over restarts; its log lies in `target/`.
public final class ServiceProcess implements AutoCloseable {
    private static final Duration START_TIMEOUT = Duration.ofMinutes(2);
    private static final int OK = 200;

    private final String module;
    private final String name;
    private final List<String> jvmArguments;
    private final List<String> arguments;
    private final RestClient management;
    private @Nullable Process process;

    /// What the JVM of a service is told that computes nothing: the quick compiler makes it start in half the
    /// time.
    static final List<String> NO_KERNELS = List.of("-XX:TieredStopAtLevel=1");

    /// What the JVM of a service is told that computes: as `./millrace` does, the optimising compiler spares the
    /// start-up code of frameworks.
    static List<String> kernels() {
        return List.of(
                "-XX:+UnlockDiagnosticVMOptions",
                "-XX:-DisplayVMOutput",
                "-XX:CompilerDirectivesFile=" + root().resolve("standalone/src/main/jvm/compiler-directives.json"));
    }

    /// @param module          folder of the service
    /// @param name            what its log is named after
    /// @param jvmArguments    beside those of all services
    /// @param managementPort  where its actuator is to be found
    /// @param arguments       settings, ports among them, each `key=value`
    public ServiceProcess(
            String module, String name, List<String> jvmArguments, int managementPort, List<String> arguments) {
        this.module = module;
        this.name = name;
        this.jvmArguments = List.copyOf(jvmArguments);
        this.arguments = List.copyOf(arguments);
        this.management = new RestClient(URI.create("http://127.0.0.1:" + managementPort));
    }

    /// A port nobody listens on now.
    public static int freePort() {
        try (ServerSocket probe = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return probe.getLocalPort();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    public boolean isAlive() {
        return process != null && process.isAlive();
    }

    /// Starts it; does not wait until it is ready.
    public void start() {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.add(sharedFlags());
        command.addAll(jvmArguments);
        command.addAll(
                List.of("-Xmx1g", "-XX:+UseSerialGC", "-jar", jarOf(module).toString()));
        for (String argument : arguments) {
            command.add("--" + argument);
        }
        try {
            Path folder = Files.createDirectories(logFolder());
            // An empty folder of its own: no settings of somebody else are read there.
            Path work = Files.createDirectories(folder.resolve(name));
            process = new ProcessBuilder(command)
                    .directory(work.toFile())
                    .redirectErrorStream(true)
                    .redirectOutput(ProcessBuilder.Redirect.appendTo(logFile().toFile()))
                    .start();
        } catch (IOException e) {
            throw new UncheckedIOException(name, e);
        }
    }

    private static Path logFolder() {
        return root().resolve("integration-tests/target/processes");
    }

    private Path logFile() {
        return logFolder().resolve(name + ".log");
    }

    /// The lines it and those before it of this name have told.
    public List<String> log() {
        try {
            return Files.readAllLines(logFile());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /// What every JVM of the project is started with.
    public static String sharedFlags() {
        return "@" + root().resolve("java.args");
    }

    /// The root folder of the project.
    public static Path root() {
        return Path.of(System.getProperty("millrace.root"));
    }

    /// The jar that users start.
    ///
    /// @param module  folder of the service
    public static Path jarOf(String module) {
        Path target = root().resolve(module).resolve("target");
        try (Stream<Path> files = Files.list(target)) {
            return files.filter(file -> file.getFileName().toString().endsWith("-exec.jar"))
                    .findFirst()
                    .orElseThrow(() -> new IllegalStateException(
                            target + " has no *-exec.jar (expected: these tests run after the package phase)"));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /// Waits until it says of itself that it is ready.
    public void awaitReady() {
        Awaitility.await(name + " ready")
                .atMost(START_TIMEOUT)
                .pollInterval(Duration.ofMillis(50))
                .ignoreExceptionsInstanceOf(UncheckedIOException.class)
                .until(() -> {
                    requireAlive();
                    return management.get("/actuator/health/readiness").statusCode() == OK;
                });
    }

    private void requireAlive() {
        if (!isAlive()) {
            throw new AssertionError(name + " has ended; see target/processes/" + name + ".log");
        }
    }

    /// Tells it to end, as `kill` does; does not wait until it has.
    public void terminate() {
        Process running = process;
        if (running != null) {
            running.destroy();
        }
    }

    /// Waits until it has ended.
    public void awaitEnd() {
        Process running = process;
        if (running != null) {
            awaitEnd(running);
        }
    }

    /// Ends it without a word, as `kill -9` does.
    public void kill() {
        Process running = process;
        if (running != null) {
            running.destroyForcibly();
            awaitEnd(running);
        }
    }

    private void awaitEnd(Process running) {
        try {
            if (!running.waitFor(20, TimeUnit.SECONDS)) {
                throw new IllegalStateException(name + " did not end");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted", e);
        }
    }

    /// What its Prometheus endpoint shows now.
    public Scrape metrics() {
        return Scrape.of(ok("/actuator/prometheus"));
    }

    /// The leases it holds, as JSON.
    public String leases() {
        return ok("/actuator/millrace/leases");
    }

    private String ok(String path) {
        HttpResponse<String> response = management.get(path);
        if (response.statusCode() != OK) {
            throw new IllegalStateException(name + path + ": " + response.statusCode() + " (expected: 200)");
        }
        return response.body();
    }

    /// Kills what still runs.
    @Override
    public void close() {
        kill();
        management.close();
    }

    @Override
    public String toString() {
        return name;
    }
}
