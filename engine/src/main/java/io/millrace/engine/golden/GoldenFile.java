package io.millrace.engine.golden;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import io.millrace.engine.checkpoint.SafetensorsFile;
import io.millrace.engine.checkpoint.TensorInfo;
import io.millrace.engine.checkpoint.TensorType;
import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/// Reference values of a model as a safetensors file: `input_ids [T]`, `logits [T, vocab]`, `greedy_ids
/// [G]`, `greedy_logprobs [G]`, and where the file has them `greedy_prompt_length [1]` (24 without),
/// `hidden.L [T, hidden]` (residual stream after layer L), `topk.L [T, T]` (1 where the row's indexer
/// selected the position) and `mtp_logits [T-1, vocab]` (row t predicts `input_ids[t+2]`), whose
/// layer's `topk.L` is `[T-1, T-1]`.
public final class GoldenFile implements AutoCloseable {
    private static final int DEFAULT_GREEDY_PROMPT = 24;
    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfFloat FLOAT =
            ValueLayout.JAVA_FLOAT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

    private final SafetensorsFile file;
    private final int[] inputIds;

    private GoldenFile(SafetensorsFile file) {
        this.file = file;
        this.inputIds = ints("input_ids");
    }

    /// A matrix of the file. Borrowed: valid until the file is closed.
    static final class Table {
        private final MemorySegment data;
        private final int rows;
        private final int columns;

        private Table(MemorySegment data, int rows, int columns) {
            this.data = data;
            this.rows = rows;
            this.columns = columns;
        }

        int rows() {
            return rows;
        }

        int columns() {
            return columns;
        }

        float number(int row, int column) {
            return data.getAtIndex(FLOAT, (long) row * columns + column);
        }

        boolean flag(int row, int column) {
            return data.get(JAVA_BYTE, (long) row * columns + column) != 0;
        }
    }

    /// Maps a file.
    ///
    /// @throws MillraceException `INVALID_CHECKPOINT` if it is no sound safetensors file with these tensors
    public static GoldenFile open(Path path) {
        SafetensorsFile file = SafetensorsFile.open(path);
        boolean opened = false;
        try {
            GoldenFile golden = new GoldenFile(file);
            opened = true;
            return golden;
        } finally {
            if (!opened) {
                file.close();
            }
        }
    }

    /// The prompt of every tensor but the greedy ones.
    public int[] inputIds() {
        return inputIds.clone();
    }

    /// The prompt that the greedy ids continue: the first input ids.
    public int[] greedyPrompt() {
        int length = file.tensors().containsKey("greedy_prompt_length")
                ? ints("greedy_prompt_length")[0]
                : Math.min(DEFAULT_GREEDY_PROMPT, inputIds.length);
        if (length < 1 || length > inputIds.length) {
            throw bad("greedy_prompt_length", Integer.toString(length), "1.." + inputIds.length);
        }
        return Arrays.copyOf(inputIds, length);
    }

    public int[] greedyIds() {
        return ints("greedy_ids");
    }

    /// Log-probability of each greedy id.
    public float[] greedyLogprobs() {
        int count = greedyIds().length;
        return data("greedy_logprobs", TensorType.F32, List.of((long) count)).toArray(FLOAT);
    }

    /// @throws MillraceException `INVALID_CHECKPOINT` if the file holds ids that the model does not know
    void requireVocabulary(int vocabSize) {
        requireIds("input_ids", inputIds, vocabSize);
        requireIds("greedy_ids", greedyIds(), vocabSize);
    }

    private void requireIds(String tensor, int[] ids, int vocabSize) {
        for (int id : ids) {
            if (id < 0 || id >= vocabSize) {
                throw bad(tensor, "id " + id, "0.." + (vocabSize - 1));
            }
        }
    }

    Table logits(int vocabSize) {
        return floats("logits", inputIds.length, vocabSize);
    }

    Optional<Table> mtpLogits(int vocabSize) {
        return has("mtp_logits") ? Optional.of(floats("mtp_logits", inputIds.length - 1, vocabSize)) : Optional.empty();
    }

    Optional<Table> hidden(int layer, int hiddenSize) {
        String name = "hidden." + layer;
        return has(name) ? Optional.of(floats(name, inputIds.length, hiddenSize)) : Optional.empty();
    }

    /// @param rows  rows of the layer: the prompt's length, one less in the multi-token-prediction layer
    Optional<Table> selected(int layer, int rows) {
        String name = "topk." + layer;
        return has(name)
                ? Optional.of(new Table(data(name, TensorType.U8, List.of((long) rows, (long) rows)), rows, rows))
                : Optional.empty();
    }

    private boolean has(String name) {
        return file.tensors().containsKey(name);
    }

    private Table floats(String name, int rows, int columns) {
        return new Table(data(name, TensorType.F32, List.of((long) rows, (long) columns)), rows, columns);
    }

    private int[] ints(String name) {
        MemorySegment data = file.data(name);
        TensorInfo info = file.tensors().get(name);
        if (info == null || info.type() != TensorType.I32 || info.shape().size() != 1 || info.sizeBytes() == 0) {
            throw bad(name, show(info), "I32 [n], n at least 1");
        }
        return data.toArray(INT);
    }

    private MemorySegment data(String name, TensorType type, List<Long> shape) {
        MemorySegment data = file.data(name);
        TensorInfo info = file.tensors().get(name);
        if (info == null || info.type() != type || !info.shape().equals(shape)) {
            throw bad(name, show(info), type + " " + shape);
        }
        return data;
    }

    private static String show(@Nullable TensorInfo info) {
        return info == null ? "absent" : info.type() + " " + info.shape();
    }

    private MillraceException bad(String tensor, String found, String expected) {
        return new MillraceException(
                ErrorCode.INVALID_CHECKPOINT,
                file.path() + ": tensor " + tensor + ": " + found + " (expected: " + expected + ")");
    }

    /// Unmaps the file. Idempotent.
    @Override
    public void close() {
        file.close();
    }
}
