package io.millrace.gateway.route;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.gateway.fake.Suite;
import io.millrace.gateway.fake.SuiteExtension;
import java.io.IOException;
import java.io.OutputStream;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/// Clients that look for the answer only after they have sent everything still get it.
@ExtendWith(SuiteExtension.class)
class LargeBodyTest {
    private static final int PIECE = 64 << 10;
    private final Suite suite;

    LargeBodyTest(Suite suite) {
        this.suite = suite;
    }

    private Socket open(String path, String... headers) throws IOException {
        Socket socket = new Socket("localhost", suite.port);
        socket.setSoTimeout(10_000);
        String head = "POST " + path + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                + String.join("\r\n", headers) + "\r\n\r\n";
        socket.getOutputStream().write(head.getBytes(StandardCharsets.US_ASCII));
        return socket;
    }

    private static String rest(Socket socket) throws IOException {
        return new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    }

    private static void isTooLarge(String answer) {
        assertThat(answer).startsWith("HTTP/1.1 413").contains("\"code\":\"body_too_large\"");
    }

    @ParameterizedTest
    @ValueSource(ints = {9, 40})
    void readsTheRestOfABodyItRefused(int megabytes) throws IOException {
        try (Socket socket = open("/v1/chat/completions", "Content-Length: " + (megabytes << 20))) {
            OutputStream output = socket.getOutputStream();
            byte[] piece = new byte[PIECE];
            for (int sent = 0; sent < megabytes << 20; sent += PIECE) {
                output.write(piece);
            }

            isTooLarge(rest(socket));
        }
    }

    @Test
    void readsTheRestOfAChunkedBodyItRefused() throws IOException {
        try (Socket socket = open("/v1/chat/completions", "Transfer-Encoding: chunked")) {
            OutputStream output = socket.getOutputStream();
            byte[] size = (Integer.toHexString(PIECE) + "\r\n").getBytes(StandardCharsets.US_ASCII);
            byte[] piece = new byte[PIECE + 2];
            piece[PIECE] = '\r';
            piece[PIECE + 1] = '\n';
            for (int sent = 0; sent < 40 << 20; sent += PIECE) {
                output.write(size);
                output.write(piece);
            }
            output.write("0\r\n\r\n".getBytes(StandardCharsets.US_ASCII));

            isTooLarge(rest(socket));
        }
    }

    @Test
    void refusesABodyBeforeItIsSentToAClientThatAsks() throws IOException {
        try (Socket socket = open("/v1/chat/completions", "Content-Length: " + (40 << 20), "Expect: 100-continue")) {
            isTooLarge(rest(socket));
        }
    }

    @Test
    void takesTheBodyOfAClientThatAsks() throws IOException {
        byte[] body = "{\"prompt\":\"Hello\"}".getBytes(StandardCharsets.UTF_8);
        try (Socket socket =
                open("/tokenize", "Content-Length: " + body.length, "Expect: 100-continue", "Connection: close")) {
            byte[] go = socket.getInputStream().readNBytes("HTTP/1.1 100 \r\n\r\n".length());
            assertThat(new String(go, StandardCharsets.US_ASCII)).startsWith("HTTP/1.1 100");
            socket.getOutputStream().write(body);

            assertThat(rest(socket)).startsWith("HTTP/1.1 200").contains("\"count\"");
        }
    }
}
