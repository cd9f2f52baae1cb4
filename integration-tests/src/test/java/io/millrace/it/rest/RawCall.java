package io.millrace.it.rest;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.net.Socket;
import java.net.URI;

/// A stream over a plain socket, so that hanging up is nothing but closing it.
public final class RawCall implements AutoCloseable {
    private static final int READ_TIMEOUT_MILLIS = 30_000;

    private final Socket socket;
    private final BufferedReader lines;

    private RawCall(Socket socket) throws IOException {
        this.socket = socket;
        this.lines = new BufferedReader(new InputStreamReader(socket.getInputStream(), UTF_8));
    }

    /// Sends a question for a stream.
    public static RawCall stream(URI base, Question question) {
        Question streamed = question.streamed();
        byte[] body = streamed.body().getBytes(UTF_8);
        String head = "POST " + streamed.path() + " HTTP/1.1\r\nHost: " + base.getAuthority()
                + "\r\nContent-Type: application/json\r\nContent-Length: " + body.length + "\r\n\r\n";
        try {
            Socket socket = new Socket(base.getHost(), base.getPort());
            socket.setSoTimeout(READ_TIMEOUT_MILLIS);
            socket.getOutputStream().write(head.getBytes(UTF_8));
            socket.getOutputStream().write(body);
            socket.getOutputStream().flush();
            return new RawCall(socket);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /// Waits for the first chunk.
    public void awaitChunk() {
        try {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                if (line.startsWith("data: ")) {
                    return;
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        throw new IllegalStateException("the stream ended without a chunk");
    }

    /// Hangs up.
    @Override
    public void close() {
        try {
            socket.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
