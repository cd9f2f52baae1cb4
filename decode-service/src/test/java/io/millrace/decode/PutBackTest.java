package io.millrace.decode;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.millrace.engine.checkpoint.ModelConfig;
import io.millrace.engine.kv.BlockId;
import io.millrace.engine.kv.KvLayout;
import io.millrace.kernels.KvFormat;
import io.millrace.prefill.FakeKvCache;
import io.millrace.rpc.KvCacheClientSettings;
import io.millrace.rpc.LineLimit;
import io.millrace.rpc.generate.SharedCache;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

class PutBackTest {
    private static final BlockId NAMESPACE = BlockId.of(new byte[BlockId.BYTES]);
    private static final int MORE_BLOCKS_THAN_WAIT = 300;

    private final Logger log = (Logger) LoggerFactory.getLogger(PutBack.class);
    private final ListAppender<ILoggingEvent> said = new ListAppender<>();
    private final AtomicLong nanos = new AtomicLong();
    private final LineLimit lines = new LineLimit(PutBack.LINES_A_MINUTE, nanos::get);
    private final FakeKvCache cache = new FakeKvCache();
    private final SharedCache shared = new SharedCache(
            Grpc.newChannelBuilder(cache.target(), InsecureChannelCredentials.create())
                    .build(),
            "decode",
            KvCacheClientSettings.defaults(),
            KvLayout.of(
                    ModelConfig.read(Path.of(System.getProperty("millrace.root"), "models", "mini")), KvFormat.BF16),
            new SimpleMeterRegistry());

    PutBackTest() throws IOException {}

    @BeforeEach
    void listen() {
        said.start();
        log.addAppender(said);
    }

    @AfterEach
    void stop() {
        log.detachAppender(said);
        shared.close();
        cache.close();
    }

    /// One whose blocks nobody takes, as on a machine that has no time.
    private PutBack stuck() {
        PutBack putBack = new PutBack(lines);
        var lease = shared.join("lease", List.of()).orElseThrow();
        putBack.start(new PutBack.Target(shared, lease, NAMESPACE, List.of()), task -> {});
        return putBack;
    }

    private List<String> said() {
        return said.list.stream().map(ILoggingEvent::getFormattedMessage).toList();
    }

    @Test
    void manySequencesThatWaitForTheCacheHaveFewLines() {
        for (int i = 0; i < 64; i++) {
            stuck().finish(1);
        }
        assertThat(said()).hasSize(PutBack.LINES_A_MINUTE).containsOnly("blocks are still put back after 1 ms");

        said.list.clear();
        nanos.addAndGet(TimeUnit.MINUTES.toNanos(1));
        PutBack slow = stuck();
        for (int i = 0; i < MORE_BLOCKS_THAN_WAIT; i++) {
            slow.offer(i, new int[0], new byte[0][]);
        }
        slow.finish(1);
        assertThat(said())
                .containsExactly(
                        64 - PutBack.LINES_A_MINUTE + " more sequences waited for the cache, and had no line",
                        "the cache is too slow: block 257 and what follows are not put back");
    }
}
