package io.millrace.engine.schedule;

/// A started sequence, as its owner holds it.
public final class SequenceHandle {
    private final Sequence sequence;
    private final Runnable wake;

    SequenceHandle(Sequence sequence, Runnable wake) {
        this.sequence = sequence;
        this.wake = wake;
    }

    /// Ends the sequence before its next step; the listener hears `CANCELLED`. No effect on one that has
    /// ended.
    public void cancel() {
        sequence.cancel();
        wake.run();
    }
}
