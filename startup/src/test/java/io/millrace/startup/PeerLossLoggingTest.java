package io.millrace.startup;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.SocketException;
import java.nio.channels.ClosedChannelException;
import java.util.ArrayList;
import java.util.List;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.springframework.boot.SpringApplication;
import org.springframework.core.env.StandardEnvironment;

class PeerLossLoggingTest {
    private static final Logger SERVER = Logger.getLogger("io.grpc.netty.NettyServerHandler");
    private final List<LogRecord> told = new ArrayList<>();
    private final Handler handler = new Handler() {
        @Override
        public void publish(LogRecord entry) {
            told.add(entry);
        }

        @Override
        public void flush() {
            // Nothing is kept back.
        }

        @Override
        public void close() {
            // Nothing is open.
        }
    };

    @BeforeEach
    void listen() {
        SERVER.addHandler(handler);
        new PeerLossLogging().postProcessEnvironment(new StandardEnvironment(), new SpringApplication());
    }

    @AfterEach
    void stop() {
        SERVER.removeHandler(handler);
        SERVER.setFilter(null);
    }

    private LogRecord told(String message, @Nullable Throwable thrown) {
        SERVER.log(Level.WARNING, message, thrown);
        return told.removeLast();
    }

    @Test
    void aPeerThatIsGoneIsOneLine() {
        for (Exception loss : new Exception[] {
            new IllegalStateException("write failed", new SocketException("Connection reset")),
            new IOException("Broken pipe"),
            new ClosedChannelException(),
            new IllegalStateException("Stream closed before write could take place")
        }) {
            LogRecord entry = told("Stream Error", loss);
            assertThat(entry.getLevel()).isEqualTo(Level.INFO);
            assertThat(entry.getThrown()).isNull();
            assertThat(entry.getMessage()).startsWith("a call ended as its peer is gone: ");
        }
        assertThat(told("Stream Error", new IOException("Broken pipe")).getMessage())
                .isEqualTo("a call ended as its peer is gone: Broken pipe");
        assertThat(told("Stream Error", new ClosedChannelException()).getMessage())
                .endsWith(": ClosedChannelException");
    }

    @Test
    void anythingElseKeepsItsTrace() {
        NullPointerException fault = new NullPointerException("x");
        assertThat(told("Stream Error", fault).getThrown()).isSameAs(fault);
        IOException lost = new IOException("Connection reset");
        LogRecord other = told("Exception in onDataRead()", lost);
        assertThat(other.getThrown()).isSameAs(lost);
        assertThat(other.getLevel()).isEqualTo(Level.WARNING);
        assertThat(told("no cause", null).getMessage()).isEqualTo("no cause");
    }
}
