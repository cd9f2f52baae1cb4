package io.millrace.gateway.fake;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.Socket;
import java.net.SocketException;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/// A client that takes its time.
public final class Trickle {
    private Trickle() {}

    /// All that comes until the gateway closes the connection, while one character after the other is sent.
    public static String answer(Socket socket, String text) throws IOException {
        AtomicInteger sent = new AtomicInteger();
        try (ScheduledExecutorService trickle = Executors.newSingleThreadScheduledExecutor()) {
            ScheduledFuture<?> drips = trickle.scheduleAtFixedRate(
                    () -> {
                        try {
                            int next = sent.getAndIncrement();
                            socket.getOutputStream().write(text.charAt(next));
                        } catch (IOException _) {
                            trickle.shutdown();
                        }
                    },
                    50,
                    100,
                    TimeUnit.MILLISECONDS);
            StringBuilder answer = new StringBuilder();
            try {
                for (int c = socket.getInputStream().read();
                        c >= 0;
                        c = socket.getInputStream().read()) {
                    answer.append((char) c);
                }
            } catch (SocketException _) {
                // Bytes that came when it was closed already are answered by a reset.
                assertThat(answer).isNotEmpty();
            }
            drips.cancel(true);
            return answer.toString();
        }
    }
}
