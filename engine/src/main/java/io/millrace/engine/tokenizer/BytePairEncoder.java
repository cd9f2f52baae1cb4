package io.millrace.engine.tokenizer;

import ai.djl.engine.EngineException;
import ai.djl.huggingface.tokenizers.HuggingFaceTokenizer;
import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/// Owns the native tokenizer that splits text and applies the merges. It knows no added tokens.
/// Thread-safe; the lock keeps a late call from reaching freed native memory.
final class BytePairEncoder implements AutoCloseable {
    private static final Map<String, String> OPTIONS = Map.of(
            "addSpecialTokens", "false",
            "truncation", "do_not_truncate",
            "padding", "do_not_pad",
            "modelMaxLength", Integer.toString(Integer.MAX_VALUE));

    private final HuggingFaceTokenizer tokenizer;
    private final ReadWriteLock lock = new ReentrantReadWriteLock();
    private boolean closed;

    private BytePairEncoder(HuggingFaceTokenizer tokenizer) {
        this.tokenizer = tokenizer;
    }

    /// @param file  named in errors
    static BytePairEncoder of(String json, Path file) {
        NativeTokenizers.prepare();
        try {
            byte[] bytes = json.getBytes(StandardCharsets.UTF_8);
            return new BytePairEncoder(HuggingFaceTokenizer.newInstance(new ByteArrayInputStream(bytes), OPTIONS));
        } catch (LinkageError | EngineException e) {
            throw new MillraceException(
                    ErrorCode.INTERNAL, "the native tokenizer library cannot be loaded: " + e.getMessage(), e);
        } catch (IOException | RuntimeException e) {
            throw new MillraceException(
                    ErrorCode.INVALID_CHECKPOINT, file + ": not a usable tokenizer: " + e.getMessage(), e);
        }
    }

    void encode(String text, TokenIds out) {
        Lock reading = lock.readLock();
        reading.lock();
        try {
            if (closed) {
                throw new IllegalStateException("tokenizer: closed");
            }
            out.addAll(tokenizer.encode(text, false, false).getIds());
        } finally {
            reading.unlock();
        }
    }

    @Override
    public void close() {
        Lock writing = lock.writeLock();
        writing.lock();
        try {
            if (!closed) {
                closed = true;
                tokenizer.close();
            }
        } finally {
            writing.unlock();
        }
    }
}
