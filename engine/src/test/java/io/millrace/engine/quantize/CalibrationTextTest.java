package io.millrace.engine.quantize;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import io.millrace.engine.error.MillraceException;
import io.millrace.engine.model.TestModels;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class CalibrationTextTest {
    private static final int VOCAB = 4096;

    @TempDir
    private Path folder = Path.of("");

    private CalibrationText read(String name, String text) throws IOException {
        Path file = Files.writeString(folder.resolve(name), text);
        return CalibrationText.read(TestModels.directory(TestModels.MINI), VOCAB, file);
    }

    private Path modelWithoutText() throws IOException {
        Path mini = TestModels.directory(TestModels.MINI);
        for (String name : List.of("tokenizer.json", "tokenizer_config.json", "chat_template.jinja")) {
            Files.copy(mini.resolve(name), folder.resolve(name));
        }
        return folder;
    }

    @Test
    void aTextInTheModelsFolderIsItsOwnUnlessOneIsGiven() throws IOException {
        Path model = modelWithoutText();
        Path own = model.resolve("calibration.jsonl");
        Files.writeString(own, "{\"ids\": [5, 6, 7]}\n");
        CalibrationText text = CalibrationText.read(model, VOCAB, null);
        assertThat(text.origin()).isEqualTo(CalibrationOrigin.MODEL);
        assertThat(text.calibration().getFirst().id(2)).isEqualTo(7);
        Files.move(own, model.resolve("elsewhere"));
        Files.createSymbolicLink(own, Path.of("elsewhere"));
        assertThat(CalibrationText.read(model, VOCAB, null).origin()).isEqualTo(CalibrationOrigin.MODEL);
        Path given = Files.writeString(model.resolve("given.jsonl"), "{\"ids\": [8, 9]}\n");
        assertThat(CalibrationText.read(model, VOCAB, given).origin()).isEqualTo(CalibrationOrigin.GIVEN);
        assertThat(CalibrationText.read(model, VOCAB, given)
                        .calibration()
                        .getFirst()
                        .id(0))
                .isEqualTo(8);
    }

    @Test
    void aBrokenTextInTheModelsFolderIsNoReasonToTakeAnother() throws IOException {
        Path model = modelWithoutText();
        Path own = model.resolve("calibration.jsonl");
        Files.createSymbolicLink(own, model.resolve("nowhere"));
        assertRefused(model, own + ": no such file");
        Files.delete(own);
        Files.createDirectory(own);
        assertRefused(model, own + ": not a regular file");
        Files.delete(own);
        Files.writeString(own, "");
        assertRefused(model, own + ": no text (expected: at least two tokens)");
        Files.writeString(own, "{\"words\": 1}");
        assertRefused(model, own + ":1: an object with words (expected: ");
    }

    private static void assertRefused(Path model, String message) {
        assertThatThrownBy(() -> CalibrationText.read(model, VOCAB, null))
                .isInstanceOf(MillraceException.class)
                .hasMessageContaining(message);
    }

    @Test
    void ofTheBuiltInTextTooTheLineThatATemplateRefusesIsNamed() throws IOException {
        Path model = modelWithoutText();
        Files.writeString(model.resolve("chat_template.jinja"), "{{ raise_exception('not me') }}");
        assertRefused(model, "the built-in text:1: ");
    }

    @Test
    void toolsAreRenderedByTheTemplate() throws IOException {
        String messages = "{\"messages\": [{\"role\": \"user\", \"content\": \"Hi\"}]";
        int without = read("a.jsonl", messages + "}").calibration().getFirst().length();
        CalibrationText with = read("b.jsonl", messages + ", \"tools\": [{\"name\": \"calculator\"}]}");
        assertThat(with.calibration().getFirst().length()).isGreaterThan(without + 10);
    }

    @Test
    void theBuiltInDialoguesGoThroughTheTemplateAndAQuarterIsHeldBack() throws IOException {
        CalibrationText text = CalibrationText.read(modelWithoutText(), VOCAB, null);
        assertThat(text.origin()).isEqualTo(CalibrationOrigin.BUILT_IN);
        assertThat(text.calibration()).hasSize(30);
        assertThat(text.evaluation()).hasSize(10);
        assertThat(text.calibration()).allSatisfy(sequence -> {
            assertThat(sequence.id(0)).isEqualTo(4062);
            assertThat(sequence.id(1)).isEqualTo(4064);
        });
    }

    @Test
    void idsAndTheirMaskAreTakenAsTheyAre() throws IOException {
        CalibrationText text =
                read("a.jsonl", "{\"ids\": [5, 6, 7], \"mask\": [1, 0, 1]}\n\n{\"text\": \"int a = 5;\"}\n");
        assertThat(text.calibration()).hasSize(1);
        assertThat(text.evaluation()).hasSize(1);
        TokenSequence first = text.calibration().getFirst();
        assertThat(first.id(2)).isEqualTo(7);
        assertThat(first.isCounted(0)).isFalse();
        assertThat(first.isCounted(1)).isFalse();
        assertThat(first.isCounted(2)).isTrue();
    }

    @Test
    void ofAShortTextTheLastQuarterIsHeldBack() throws IOException {
        for (String lines : List.of("{\"ids\": [1, 2, 3, 4, 5, 6, 7, 8]}", "{\"ids\": [1, 2, 3]}\n{\"ids\": [7, 8]}")) {
            CalibrationText text = read("a.jsonl", lines);
            assertThat(text.evaluation()).singleElement().satisfies(last -> {
                assertThat(last.length()).isEqualTo(2);
                assertThat(last.id(0)).isEqualTo(7);
            });
            assertThat(text.calibration()).doesNotContainAnyElementsOf(text.evaluation());
        }
    }

    @Test
    void plainTextIsCutIntoSequences() throws IOException {
        CalibrationText text = read("a.txt", "The quick brown fox. ".repeat(400));
        assertThat(text.calibration())
                .hasSizeGreaterThan(3)
                .allSatisfy(sequence -> assertThat(sequence.length()).isBetween(2, 512));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "{\"ids\": [5, 4096]}             | a.jsonl:1: ids[1]: 4096 (expected: 0..4095)",
                "{\"ids\": [5, 6], \"mask\": [1]} | a.jsonl:1: mask of 1 (expected: 2, as many as ids)",
                "{\"words\": 1, \"mask\": []}"
                        + " | a.jsonl:1: an object with words, mask (expected: an object with a list",
                "{\"text\": 5}                    | a.jsonl:1: an object with text (expected: an object with a list",
                "{\"text\": \"a\", \"ids\": [5]}"
                        + " | a.jsonl:1: an object with text, ids (expected: an object with a list",
                "{\"text\": \"a \\ud800 b\"}         | a.jsonl:1: text: half a surrogate pair",
                "{\"ids\": [5, 6], \"mask\": 5}     | a.jsonl:1: mask: no list (expected: one of",
                "{}                               | a.jsonl:1: an object without keys (expected: ",
                "[]                               | a.jsonl:1: no JSON object (expected: ",
                "{                                | a.jsonl:1: not JSON: it ends too early at column 2 (expected: ",
                "{\"text\": \"a\"} {}               | a.jsonl:1: not JSON: something follows the object at column 1",
                "{\"text\": \"a\", \"text\": \"b\"}   | a.jsonl:1: not JSON: a key appears twice",
                "{\"messages\": []}               | a.jsonl:1: messages: an empty list",
                "{\"messages\": [5]}              | a.jsonl:1: messages[0]: ",
                "{\"messages\": [{\"role\": \"user\", \"content\": \"a\"}], \"tools\": {}}"
                        + " | a.jsonl:1: tools: an object (expected: a list of tools)",
                "{\"messages\": [{\"role\": \"user\", \"content\": \"a\"}], \"tools\": [5]}"
                        + " | a.jsonl:1: tools[0]: ",
                "{\"messages\": [{\"role\": \"user\", \"content\": [{\"type\": \"image_url\"}]}]}"
                        + " | a.jsonl:1: messages[0].content[0]: a part of type",
                "{\"ids\": [5]}                   | no text"
            })
    void whatCannotBeReadIsNamedByFileAndLine(String line, String message) {
        assertThatThrownBy(() -> read("a.jsonl", line))
                .isInstanceOf(MillraceException.class)
                .hasMessageContaining(message);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "a.jsonl | {\"text\": \"  | \"}  | ':2: '",
                "b.jsonl | {\"messages\": [{\"role\": \"user\", \"content\": \" | \"}]} | ':2: '",
                "c.txt   | ''            | ''   | ': '"
            })
    void aTextThatIsTooLongIsRefusedBeforeItIsTokenized(String name, String before, String after, String where) {
        String line = before + "x yz".repeat(2 << 20) + "." + after;
        String file = (name.endsWith(".jsonl") ? "{\"ids\": [5, 6]}\n" : "") + line;
        assertThatThrownBy(() -> read(name, file))
                .isInstanceOf(MillraceException.class)
                .hasMessage(folder.resolve(name) + where + line.length()
                        + " characters (expected: at most 8388608 in a line, or in a plain text)");
    }

    @Test
    void aFileOfManyShortLinesIsReadInTimeThatGrowsWithIt() {
        String lines = "{\"ids\": [5, 6]}\n".repeat(530_000);
        assertTimeoutPreemptively(
                Duration.ofSeconds(20),
                () -> assertThatThrownBy(() -> read("a.jsonl", lines))
                        .isInstanceOf(MillraceException.class)
                        .hasMessage(folder.resolve("a.jsonl")
                                + ":524289: 1048578 tokens so far (expected: at most 1048576)"));
    }

    @Test
    void bytesThatAreNoUtf8AreRefusedWithTheirOffset() throws IOException {
        byte[][] broken = {
            {'a', 'b', (byte) 0xFF, 'c'},
            {'a', 'b', (byte) 0xE4, 'c'},
            {'a', 'b', (byte) 0xC3},
            {'a', 'b', (byte) 0xED, (byte) 0xA0, (byte) 0x80}
        };
        for (String name : List.of("b.txt", "b.jsonl")) {
            for (byte[] bytes : broken) {
                Path file = Files.write(folder.resolve(name), bytes);
                assertThatThrownBy(() -> CalibrationText.read(TestModels.directory(TestModels.MINI), VOCAB, file))
                        .isInstanceOf(MillraceException.class)
                        .hasMessage(file + ": no UTF-8 at byte offset 2 (expected: a text file in UTF-8)");
            }
        }
        assertThat(read("good.txt", "zwölf \uD83D\uDE42 boats").calibration()).hasSize(1);
    }
}
