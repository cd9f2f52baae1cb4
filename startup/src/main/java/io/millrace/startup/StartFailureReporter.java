package io.millrace.startup;

import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.boot.SpringBootExceptionReporter;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;

/// Logs one sentence where a start fails because of the settings; everything else is left to Spring.
@Order(Ordered.HIGHEST_PRECEDENCE)
final class StartFailureReporter implements SpringBootExceptionReporter {
    private static final Logger log = LoggerFactory.getLogger(StartFailureReporter.class);

    /// Called by Spring.
    ///
    /// @param context  that did not start; null where there is none yet
    StartFailureReporter(@Nullable ConfigurableApplicationContext context) {}

    @Override
    public boolean reportException(Throwable failure) {
        Optional<String> sentence = StartFailure.sentence(failure);
        sentence.ifPresent(log::error);
        return sentence.isPresent();
    }
}
