package io.millrace.startup.arrival;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.io.OutputStream;
import java.net.Socket;
import java.net.SocketException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.springframework.boot.tomcat.servlet.TomcatServletWebServerFactory;
import org.springframework.boot.web.server.Http2;
import org.springframework.boot.web.server.WebServer;

/// A port whose servlet reads what it gets before it answers.
class ManagementPortTest {
    private static final Duration SHORT = Duration.ofSeconds(6);

    private final CountDownLatch asked = new CountDownLatch(1);
    private boolean http2;

    @SuppressWarnings("NullAway.Init")
    private ManagementPort port;

    @SuppressWarnings("NullAway.Init")
    private WebServer server;

    private final class Reading extends HttpServlet {
        private static final long serialVersionUID = 1;

        @Override
        protected void service(HttpServletRequest request, HttpServletResponse response) throws IOException {
            asked.countDown();
            request.getInputStream().readAllBytes();
            response.getOutputStream().print("read");
        }
    }

    @BeforeEach
    void start() {
        start(Duration.ofSeconds(1));
    }

    private void start(Duration headLimit) {
        port = new ManagementPort(ArrivalProtocol.class, new ArrivalLimits(headLimit, Duration.ofSeconds(1)));
        TomcatServletWebServerFactory factory = new TomcatServletWebServerFactory(0);
        port.customize(factory);
        Http2 h2 = new Http2();
        h2.setEnabled(http2);
        factory.setHttp2(h2);
        factory.addInitializers(
                context -> context.addServlet("reading", new Reading()).addMapping("/*"));
        server = factory.getWebServer();
        server.start();
    }

    @AfterEach
    void stop() {
        server.stop();
        server.destroy();
    }

    private Socket begin(String text) throws IOException {
        Socket socket = new Socket("localhost", server.getPort());
        socket.setSoTimeout(15_000);
        send(socket, text);
        return socket;
    }

    private static void send(Socket socket, String text) throws IOException {
        socket.getOutputStream().write(text.getBytes(StandardCharsets.US_ASCII));
    }

    private static String rest(Socket socket) throws IOException {
        return new String(socket.getInputStream().readAllBytes(), StandardCharsets.US_ASCII);
    }

    /// How long the connection stood while characters of no meaning came.
    private static Duration trickle(Socket socket) {
        long started = System.nanoTime();
        try (ScheduledExecutorService trickle = Executors.newSingleThreadScheduledExecutor()) {
            ScheduledFuture<?> drips = trickle.scheduleAtFixedRate(
                    () -> {
                        try {
                            socket.getOutputStream().write('a');
                        } catch (IOException _) {
                            trickle.shutdown();
                        }
                    },
                    100,
                    100,
                    TimeUnit.MILLISECONDS);
            try {
                socket.getInputStream().transferTo(OutputStream.nullOutputStream());
            } catch (IOException e) {
                // Bytes that came when it was closed already are answered by a reset.
                assertThat(e).isInstanceOf(SocketException.class);
            }
            drips.cancel(true);
        }
        return Duration.ofNanos(System.nanoTime() - started);
    }

    @Test
    void aRequestThatComesIsAnswered() throws IOException {
        try (Socket socket = begin("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nConnection: close\r\n\r\nab")) {
            assertThat(rest(socket)).startsWith("HTTP/1.1 200").endsWith("read");
        }
    }

    @Test
    void aHeadThatTricklesOrStopsIsGivenUp() throws IOException {
        try (Socket trickling = begin("GET /");
                Socket stopping = begin("GET /")) {
            assertThat(trickle(trickling)).isBetween(Duration.ofMillis(900), SHORT);
            assertThat(rest(stopping)).startsWith("HTTP/1.1 408").endsWith("\r\n\r\n");
        }
    }

    /// The time that the first head left over bounds nothing of what comes behind it.
    @Test
    void aHeadBehindASlowOneHasItsOwnTime() throws IOException {
        stop();
        start(Duration.ofSeconds(5));
        String head = "GET / HTTP/1.1\r\nHost: a\r\n";
        try (Socket socket = begin("GET")) {
            await().pollDelay(Duration.ofMillis(3300)).until(() -> true);
            send(socket, head.substring(3));
            await().pollDelay(Duration.ofMillis(200)).until(() -> true);
            send(socket, "\r\n" + head);
            await().pollDelay(Duration.ofSeconds(3)).until(() -> true);
            send(socket, "Connection: close\r\n\r\n");
            String answers = rest(socket);
            assertThat(answers.split("HTTP/1.1 200", -1)).hasSize(3);
        }
    }

    @Test
    void aBodyThatTricklesIsGivenUp() throws IOException {
        try (Socket socket = begin("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n")) {
            assertThat(trickle(socket)).isBetween(Duration.ofMillis(900), SHORT);
        }
    }

    /// The server bounds their streams itself.
    @Test
    void requestsOfHttp2AreAnswered() throws Exception {
        stop();
        http2 = true;
        start();
        try (HttpClient client = HttpClient.newHttpClient()) {
            HttpResponse<String> answer = client.send(
                    HttpRequest.newBuilder(URI.create("http://localhost:" + server.getPort() + "/"))
                            .POST(HttpRequest.BodyPublishers.ofString("ab"))
                            .build(),
                    HttpResponse.BodyHandlers.ofString());
            assertThat(answer.version()).isEqualTo(HttpClient.Version.HTTP_2);
            assertThat(answer.body()).isEqualTo("read");
        }
    }

    @Test
    void aBodyUnderWayEndsWithTheService() throws Exception {
        try (Socket socket = begin("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\na")) {
            assertThat(asked.await(10, TimeUnit.SECONDS)).isTrue();
            long started = System.nanoTime();
            port.stop();
            assertThat(rest(socket)).startsWith("HTTP/1.1 400");
            assertThat(Duration.ofNanos(System.nanoTime() - started)).isLessThan(Duration.ofMillis(800));
        }
    }
}
