package io.millrace.startup;

/// What is done about a service that can serve no more. A process that runs several services brings its own
/// as a bean; otherwise it is [ProcessEnd].
@FunctionalInterface
public interface ServiceFailure {
    /// Called once the requests have been told. Returns at once: the service may end only after it.
    ///
    /// @param reason  one sentence, which has been logged
    void end(String reason);
}
