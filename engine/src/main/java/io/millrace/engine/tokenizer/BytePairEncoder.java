package io.millrace.engine.tokenizer;

import ai.djl.engine.EngineException;
import ai.djl.huggingface.tokenizers.HuggingFaceTokenizer;
import ai.djl.huggingface.tokenizers.jni.TokenizersLibrary;
import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.lang.ref.Reference;
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

    private static final long RETRY_AFTER_MILLIS = 1000;

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

    /// @throws MillraceException  `queue_full` if there is no memory for the ids now
    void encode(String text, TokenIds out) {
        Lock reading = lock.readLock();
        reading.lock();
        try {
            if (closed) {
                throw new IllegalStateException("tokenizer: closed");
            }
            out.addAll(ids(text));
        } catch (OutOfMemoryError e) {
            throw new MillraceException(
                    ErrorCode.QUEUE_FULL,
                    "A text of " + text.length() + " characters finds no memory to be tokenized in; try again later.",
                    null,
                    RETRY_AFTER_MILLIS,
                    e);
        } finally {
            reading.unlock();
        }
    }

    /// Asks for the ids alone: `HuggingFaceTokenizer.encode` has the library make Java objects of every token's
    /// text and place, too, and the library ends the process where the heap has no room for what it makes.
    /// For the same reason the room for the ids is tried here first.
    private long[] ids(String text) {
        int most = mostTokens(text);
        tryRoom(most);
        long encoding = TokenizersLibrary.LIB.encode(tokenizer.getHandle(), text, false);
        try {
            tryRoom(most);
            return TokenizersLibrary.LIB.getTokenIds(encoding);
        } finally {
            TokenizersLibrary.LIB.deleteEncoding(encoding);
        }
    }

    private static void tryRoom(int tokens) {
        long[] room = new long[tokens];
        try {
            room[0] = tokens;
        } finally {
            Reference.reachabilityFence(room);
        }
    }

    /// One for each UTF-8 byte, and room for a prefix.
    private static int mostTokens(String text) {
        long count = 16;
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            // Half a surrogate pair is two bytes of four.
            count += c < 0x80 ? 1 : c < 0x800 || Character.isSurrogate(c) ? 2 : 3;
        }
        return (int) Math.min(count, Integer.MAX_VALUE - 16);
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
