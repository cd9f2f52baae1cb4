package io.millrace.standalone.command;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.standalone.client.MillraceClient;
import io.millrace.standalone.client.Reply;
import io.millrace.standalone.client.ReplyListener;
import io.millrace.standalone.suite.Suite;
import io.millrace.standalone.suite.SuiteSettings;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.LoggerFactory;
import org.slf4j.bridge.SLF4JBridgeHandler;

/// Starts a suite for a command: with a progress bar, ended by a signal, and handed over only when a
/// request has been answered.
final class SuiteLauncher {
    /// What a command says before it starts a suite.
    static final String STARTING = "starting the suite: gateway, prefill, decode, kv-cache";

    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final Duration PAUSE = Duration.ofMillis(50);
    private static final Duration MAX_WARM_UP = Duration.ofSeconds(2);
    private static final Duration MIN_WARM_UP = Duration.ofMillis(500);
    /// A process that is older has its warm-up cut short: whoever waits is to wait no longer.
    private static final Duration WARM_BY = Duration.ofSeconds(14);

    private SuiteLauncher() {}

    /// @param onSignal  closes the suite when the process is told to end
    /// @return the suite, answering; the caller closes it
    static Suite launch(SuiteSettings settings, boolean verbose, Consumer<Suite> onSignal) throws IOException {
        // Tomcat and gRPC log by java.util.logging.
        SLF4JBridgeHandler.removeHandlersForRootLogger();
        SLF4JBridgeHandler.install();
        if (verbose && LoggerFactory.getLogger(org.slf4j.Logger.ROOT_LOGGER_NAME) instanceof Logger root) {
            root.setLevel(Level.INFO);
        }
        // Contexts of one process share its logging: none of them is to set it up anew.
        System.setProperty("org.springframework.boot.logging.LoggingSystem", "none");
        Suite suite = new Suite(settings);
        Runtime.getRuntime().addShutdownHook(new Thread(() -> onSignal.accept(suite), "suite-close"));
        boolean answers = false;
        try {
            try (LoadingBar bar = new LoadingBar(LoadingBar.hasTerminal() && !verbose)) {
                suite.start(bar);
            }
            awaitAnswer(suite);
            requireSound(suite);
            answers = true;
            return suite;
        } finally {
            if (!answers) {
                suite.close();
            }
        }
    }

    /// For the end of a command: a suite that failed makes it fail.
    ///
    /// @throws MillraceException  with the reason
    static void requireSound(Suite suite) {
        suite.failure().ifPresent(reason -> {
            throw new MillraceException(ErrorCode.ENGINE_FAILED, reason);
        });
    }

    /// Asks for one token until it comes by way of prefill and decode, then for some more.
    private static void awaitAnswer(Suite suite) throws IOException {
        long deadline = System.nanoTime() + PATIENCE.toNanos();
        Map<String, @Nullable Object> oneToken = new LinkedHashMap<>();
        oneToken.put("prompt", "1");
        oneToken.put("max_tokens", 1);
        oneToken.put("temperature", 0);
        String refusal = "";
        try (MillraceClient client = new MillraceClient(suite.url())) {
            while (System.nanoTime() < deadline) {
                try {
                    if (client.isHealthy() && !client.modelId().isEmpty() && isAnswered(client, oneToken)) {
                        new WarmUp(client, warmUpBudget(), new SplittableRandom()).run();
                        return;
                    }
                } catch (MillraceException e) {
                    // Where one of the services has no room yet, or is not found yet, it is worth another try.
                    if (!e.code().retryable()) {
                        throw e;
                    }
                    refusal = ": " + e.getMessage();
                }
                requireSound(suite);
                LockSupport.parkNanos(PAUSE.toNanos());
            }
        }
        throw new MillraceException(
                ErrorCode.INTERNAL,
                "the suite gave no answer within " + PATIENCE.toSeconds() + " s of its start" + refusal);
    }

    /// Whether prefill and decode both took part.
    private static boolean isAnswered(MillraceClient client, Map<String, @Nullable Object> question)
            throws IOException {
        Reply reply = client.complete(question, ReplyListener.NONE);
        return reply.receipt().services().contains("prefill");
    }

    private static Duration warmUpBudget() {
        Duration left = WARM_BY.minusMillis(ManagementFactory.getRuntimeMXBean().getUptime());
        if (left.compareTo(MIN_WARM_UP) < 0) {
            return MIN_WARM_UP;
        }
        return left.compareTo(MAX_WARM_UP) > 0 ? MAX_WARM_UP : left;
    }
}
