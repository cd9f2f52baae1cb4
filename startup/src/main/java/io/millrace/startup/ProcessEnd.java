package io.millrace.startup;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.boot.SpringApplication;
import org.springframework.context.ConfigurableApplicationContext;

/// Ends the process of a service that can serve no more, so that whoever runs it starts it anew: closes the
/// application, which lets the last answers out, then exits with status 1. A close that takes too long is cut
/// short.
public final class ProcessEnd implements ServiceFailure {
    private static final Logger log = LoggerFactory.getLogger(ProcessEnd.class);
    private static final int STATUS = 1;
    private static final long CLOSE_MILLIS = 60_000;

    private final ConfigurableApplicationContext application;

    /// @param application  closed before the process ends
    public ProcessEnd(ConfigurableApplicationContext application) {
        this.application = application;
    }

    @Override
    public void end(String reason) {
        try {
            Thread.ofPlatform().daemon().name("process-end-limit").start(this::limit);
        } catch (Error e) {
            // Not even a thread can be had.
            Runtime.getRuntime().halt(STATUS);
            throw e;
        }
    }

    private void limit() {
        try {
            log.info("ending the process with status {}", STATUS);
            Thread.ofPlatform().name("process-end").start(this::exit).join(CLOSE_MILLIS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            Runtime.getRuntime().halt(STATUS);
        }
    }

    private void exit() {
        try {
            SpringApplication.exit(application);
        } finally {
            System.exit(STATUS);
        }
    }
}
