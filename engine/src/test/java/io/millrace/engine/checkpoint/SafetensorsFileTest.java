package io.millrace.engine.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SafetensorsFileTest {
    @TempDir
    Path directory;

    @Test
    void readsWhatWasWritten() throws IOException {
        byte[] bytes = new SafetensorsWriter()
                .putFloats("a", List.of(2L, 2L), 1, 2, 3, 4)
                .put("empty", TensorType.I64, List.of(0L, 5L), new byte[0])
                .put("scalar", TensorType.U8, List.of(), new byte[] {9})
                .bytes(3);
        try (SafetensorsFile file = SafetensorsFile.open(write(bytes))) {
            assertThat(file.tensors().keySet()).containsExactly("a", "empty", "scalar");
            assertThat(file.data("a").toArray(ValueLayout.JAVA_FLOAT_UNALIGNED)).containsExactly(1, 2, 3, 4);
            assertThat(file.data("scalar").get(ValueLayout.JAVA_BYTE, 0)).isEqualTo((byte) 9);
            assertThat(file.data("a").isReadOnly()).isTrue();
            assertThat(file.tensors().get("a"))
                    .satisfies(info -> assertThat(info.elements()).isEqualTo(4));
            assertThatThrownBy(() -> file.data("b")).hasMessageContaining("no tensor b");
        }
    }

    @Test
    void closingTwiceIsHarmlessAndEndsAccess() throws IOException {
        SafetensorsFile file = SafetensorsFile.open(
                write(new SafetensorsWriter().putFloats("a", List.of(1L), 1).bytes(0)));
        var data = file.data("a");
        file.close();
        file.close();
        assertThatThrownBy(() -> data.get(ValueLayout.JAVA_BYTE, 0)).isInstanceOf(IllegalStateException.class);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,4]}}|4 bytes",
                "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,16]}}|16 bytes (expected: 8 for F32 [2])",
                "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[8,0]}}|two ascending numbers",
                "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8,9]}}|data_offsets",
                "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[-8,0]}}|numbers from 0 to 2^63-1",
                "{\"a\":{\"dtype\":\"F32\",\"shape\":[-2],\"data_offsets\":[0,8]}}|numbers from 0 to 2^63-1",
                "{\"a\":{\"dtype\":\"F32\",\"shape\":[99999999999999999999],\"data_offsets\":[0,8]}}|"
                        + "numbers from 0 to 2^63-1",
                "{\"a\":{\"dtype\":\"F32\",\"shape\":[4611686018427387904,4],\"data_offsets\":[0,8]}}|2^63",
                "{\"a\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296,1],\"data_offsets\":[0,8]}}|2^63",
                "{\"a\":{\"dtype\":\"F32\",\"shape\":[1,1,1,1,1,1,1,1,2],\"data_offsets\":[0,8]}}|more than 8",
                "{\"a\":{\"dtype\":\"F32\",\"shape\":[2.0],\"data_offsets\":[0,8]}}|"
                        + "tensor a: shape holds the number 2.0 (expected: whole numbers from 0 to 2^63-1)",
                "{\"a\":{\"dtype\":\"F32\",\"shape\":[\"2\"],\"data_offsets\":[0,8]}}|"
                        + "tensor a: shape holds a text (expected: whole numbers from 0 to 2^63-1)",
                "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,null]}}|"
                        + "tensor a: data_offsets holds null (expected: whole numbers from 0 to 2^63-1)",
                "{\"a\":{\"dtype\":\"F32\",\"shape\":2,\"data_offsets\":[0,8]}}|"
                        + "tensor a: shape: the number 2 (expected: a list)",
                "{\"a\":{\"dtype\":\"F33\",\"shape\":[2],\"data_offsets\":[0,8]}}|dtype F33",
                "{\"a\":{\"dtype\":7,\"shape\":[2],\"data_offsets\":[0,8]}}|"
                        + "tensor a: dtype: the number 7 (expected: a text)",
                "{\"a\":{\"dtype\":\"F32\",\"shape\":[2]}}|a key is missing",
                "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8],\"x\":1}}|key \"x\"",
                "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}|8 bytes of data",
                "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}|gap",
                "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},"
                        + "\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}|overlaps",
                "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},"
                        + "\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}|"
                        + "a key appears twice in one object at byte ",
                "{\"a\":[]}|tensor a: its entry: a list (expected: an object)",
                "{\"__metadata__\":{\"a\":1}}|: __metadata__: the number 1 (expected: a text)",
                "{}|8 bytes of data",
                "{} {}|text after",
                "[]|'{'",
                "{\"a\":|invalid JSON in the header: it ends too early at byte ",
                "{\"a\":NaN}|invalid JSON in the header: NaN, which is no JSON number at byte ",
                "{\"a\":{\"dtype\":\"F32\",\"shape\":[2|invalid JSON",
            })
    void headersThatLieFailByTensor(String header, String fragment) throws IOException {
        assertInvalid(SafetensorsWriter.withHeader(header, new byte[8]), fragment);
    }

    @Test
    void deepNestingInTheHeaderFails() throws IOException {
        assertInvalid(SafetensorsWriter.withHeader("{\"a\":" + "[".repeat(100_000), new byte[8]), "its entry: a list");
        String metadata = "{\"__metadata__\":" + "{\"a\":".repeat(100_000);
        assertInvalid(SafetensorsWriter.withHeader(metadata, new byte[8]), "__metadata__");
    }

    @Test
    void headerLengthsBeyondTheFileFailBeforeAnyAllocation() throws IOException {
        for (long length : new long[] {0, 1, 25, 1L << 31, 1L << 40, Long.MAX_VALUE, -1, Long.MIN_VALUE}) {
            byte[] bytes = new byte[32];
            ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).putLong(length);
            assertInvalid(bytes, "header length " + Long.toUnsignedString(length));
        }
    }

    @Test
    void everyTruncationFails() throws IOException {
        byte[] whole =
                new SafetensorsWriter().putFloats("a", List.of(3L), 1, 2, 3).bytes(0);
        for (int length = 0; length < whole.length; length++) {
            assertInvalid(Arrays.copyOf(whole, length), "file.safetensors");
        }
        assertInvalid(Arrays.copyOf(whole, whole.length + 1), "13 bytes of data");
    }

    @Test
    void aFileThatIsCutOffIsToldWithItsSizeAndTheOneItsHeaderAsksFor() throws IOException {
        byte[] whole = new SafetensorsWriter()
                .putFloats("a", List.of(3L), 1, 2, 3)
                .putFloats("b", List.of(2L), 4, 5)
                .bytes(0);
        for (int lost : new int[] {1, 8, 9, 20}) {
            int left = whole.length - lost;
            assertInvalid(
                    Arrays.copyOf(whole, left),
                    ": " + left + " bytes, " + (20 - lost) + " bytes of data (expected: " + whole.length
                            + " bytes, as its header says: the file is cut off)");
        }
        int header = whole.length - 20;
        assertInvalid(
                Arrays.copyOf(whole, 30),
                ": 30 bytes, header length " + (header - 8) + " (expected: at least " + header
                        + " bytes, as its beginning says: the file is cut off)");
    }

    private Path write(byte[] bytes) throws IOException {
        return Files.write(directory.resolve("file.safetensors"), bytes);
    }

    private void assertInvalid(byte[] bytes, String fragment) throws IOException {
        Path file = write(bytes);
        assertThatThrownBy(() -> SafetensorsFile.open(file).close())
                .isInstanceOfSatisfying(
                        MillraceException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.INVALID_CHECKPOINT))
                .hasMessageContaining("file.safetensors: ")
                .hasMessageContaining(fragment)
                .hasMessageContaining("(expected: ");
    }
}
