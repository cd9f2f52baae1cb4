package io.millrace.gateway.route;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;

/// Server-sent events on an output stream.
record EventStream(OutputStream output) {
    private static final byte[] COMMENT = ": keep-alive\n\n".getBytes(StandardCharsets.UTF_8);

    void data(List<String> jsons) throws IOException {
        for (String json : jsons) {
            output.write(("data: " + json + "\n\n").getBytes(StandardCharsets.UTF_8));
        }
    }

    /// Keeps proxies from closing a silent stream; clients ignore it.
    void comment() throws IOException {
        output.write(COMMENT);
        output.flush();
    }

    void flush() throws IOException {
        output.flush();
    }

    void done() throws IOException {
        data(List.of("[DONE]"));
        output.flush();
    }
}
