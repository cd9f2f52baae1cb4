package io.millrace.standalone.command;

import io.millrace.standalone.client.ReplyListener;
import java.io.PrintStream;

/// Writes an answer as it comes: its text alone, or what the model thought before it too, in brackets.
final class AnswerPrinter implements ReplyListener {
    private final PrintStream out;
    private final boolean reasoningShown;
    private boolean reasoning;

    AnswerPrinter(PrintStream out, boolean reasoningShown) {
        this.out = out;
        this.reasoningShown = reasoningShown;
    }

    @Override
    public void onReasoning(String text) {
        if (reasoningShown) {
            out.print(reasoning ? text : "[" + text);
            out.flush();
            reasoning = true;
        }
    }

    @Override
    public void onText(String text) {
        endReasoning();
        out.print(text);
        out.flush();
    }

    private void endReasoning() {
        if (reasoning) {
            out.println("]");
            reasoning = false;
        }
    }

    /// Ends the answer's last line.
    void end() {
        endReasoning();
        out.println();
        out.flush();
    }
}
