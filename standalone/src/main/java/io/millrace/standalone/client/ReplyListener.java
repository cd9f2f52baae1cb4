package io.millrace.standalone.client;

/// Told of an answer's text as it comes, on the asking thread.
public interface ReplyListener {
    /// Hears nothing.
    ReplyListener NONE = new ReplyListener() {
        @Override
        public void onReasoning(String text) {}

        @Override
        public void onText(String text) {}
    };

    void onReasoning(String text);

    void onText(String text);
}
