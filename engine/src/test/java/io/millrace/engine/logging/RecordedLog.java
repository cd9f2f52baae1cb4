package io.millrace.engine.logging;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import java.util.List;
import org.slf4j.LoggerFactory;

/// Keeps the lines of a logger until it is closed.
public final class RecordedLog implements AutoCloseable {
    private final Logger log;
    private final ListAppender<ILoggingEvent> lines = new ListAppender<>();

    /// @param logger  name of a class or a package
    public RecordedLog(String logger) {
        log = (Logger) LoggerFactory.getLogger(logger);
        lines.start();
        log.addAppender(lines);
    }

    /// All lines so far.
    public List<ILoggingEvent> lines() {
        return lines.list;
    }

    @Override
    public void close() {
        log.detachAppender(lines);
    }
}
