package io.millrace.engine.tokenizer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.engine.schedule.StopCondition;
import io.millrace.engine.text.MarkedText;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class TokenizerFileTest {
    private static final String GOOD = """
            {"version": "1.0",
             "truncation": {"max_length": 2, "strategy": "LongestFirst", "stride": 0, "direction": "Right"},
             "padding": null,
             "added_tokens": [{"id": 3, "content": "abc", "special": true}, {"id": 9, "content": "<x>"}],
             "normalizer": null,
             "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true,
               "use_regex": true},
             "post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "abc", "type_id": 0}},
               {"Sequence": {"id": "A", "type_id": 0}}], "pair": [],
               "special_tokens": {"abc": {"id": "abc", "ids": [3], "tokens": ["abc"]}}},
             "decoder": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true,
               "use_regex": true},
             "model": {"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
               "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "ignore_merges": true,
               "vocab": {"a": 0, "b": 1, "c": 2, "abc": 3, "ab": 4, "<": 5, "x": 6, ">": 7},
               "merges": [["a", "b"]]}}
            """;

    @TempDir
    Path folder;

    @Test
    void aFolderWithNothingButATokenizerFileIsEnough() throws IOException {
        try (Tokenizer tokenizer = load(GOOD)) {
            assertThat(tokenizer.encode("ab<x>c")).containsExactly(4, 9, 2);
            assertThat(tokenizer.vocabSize()).isEqualTo(10);
        }
    }

    @Test
    void neitherPostProcessorNorTruncationOfTheFileTouchesAPrompt() throws IOException {
        try (Tokenizer tokenizer = load(GOOD)) {
            assertThat(tokenizer.encode("cabba")).containsExactly(2, 4, 1, 0);
        }
    }

    @Test
    void anAddedTokenInTheModelsVocabularyIsNotFoundInCallerTextEither() throws IOException {
        try (Tokenizer tokenizer = load(GOOD)) {
            assertThat(tokenizer.encode("abc")).containsExactly(3);
            assertThat(tokenizer.encode(MarkedText.fromCaller("abc"))).containsExactly(4, 2);
        }
    }

    @Test
    void idsBetweenTokensDecodeToNothing() throws IOException {
        try (Tokenizer tokenizer = load(GOOD)) {
            assertThat(tokenizer.decode(new int[] {0, 8, 1}, false)).isEqualTo("ab");
            assertThat(tokenizer.token(8)).isEmpty();
        }
    }

    @Test
    void eachIdBeyondTheTokensDecodesToOneReplacementCharacter() throws IOException {
        try (Tokenizer tokenizer = load(GOOD)) {
            int[] ids = {0, 10, 4095, 1, Integer.MAX_VALUE};
            assertThat(tokenizer.decode(ids, false)).isEqualTo("a\uFFFD\uFFFDb\uFFFD");
            assertThat(tokenizer.decode(ids, true)).isEqualTo("a\uFFFD\uFFFDb\uFFFD");
            assertThat(new String(tokenizer.bytes(10), StandardCharsets.UTF_8)).isEqualTo("\uFFFD");
            Detokenizer pieces = tokenizer.detokenizer(true);
            assertThat(pieces.accept(10)).isEqualTo("\uFFFD");
            assertThat(pieces.accept(0)).isEqualTo("a");
            assertThat(pieces.flush()).isEmpty();
        }
    }

    @Test
    void aStopStringIsFoundAroundIdsBeyondTheTokens() throws IOException {
        try (Tokenizer tokenizer = load(GOOD)) {
            StopStrings stop = new StopStrings(tokenizer, List.of("\uFFFDb"), true);
            assertThat(stop.accept(0)).isEqualTo(new StopCondition.Unmatched(1));
            assertThat(stop.accept(4000)).isEqualTo(new StopCondition.Unmatched(1));
            assertThat(stop.accept(1)).isEqualTo(new StopCondition.Matched("\uFFFDb", 2));
        }
    }

    @Test
    void tokensAreSkippedOnlyIfTheyAreMarkedSpecial() throws IOException {
        try (Tokenizer tokenizer = load(GOOD)) {
            assertThat(tokenizer.decode(new int[] {3, 9, 0}, true)).isEqualTo("<x>a");
            assertThat(tokenizer.decode(new int[] {3, 9, 0}, false)).isEqualTo("abc<x>a");
        }
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
            "type": "BPE" | "type": "Unigram" | model.type: Unigram (expected: BPE)
            "decoder": {"type": "Byte | "decoder": {"type": "Char | decoder.type: CharLevel (expected: ByteLevel)
            "decoder": {"type": "ByteLevel" | "decoder": {"kind": "ByteLevel" | decoder.type: none (expected: ByteLevel)
            "a": 0 | "a": -1 | model.vocab["a"]: -1 (expected: 0..4194303)
            "a": 0 | "a": 99999999999 | model.vocab["a"]: 99999999999 (expected: 0..4194303)
            "a": 0 | "a": "0" | model.vocab["a"]: "0" (expected: 0..4194303)
            "a": 0 | "a": 1 | id 1 is given to both "a" and "b"
            "a": 0 | "b": 0 | is not valid JSON
            "id": 9, "content" | "content" | added_tokens[1].id: missing
            "id": 9 | "id": 2 | added_tokens[1]: id 2 of "<x>" belongs to another token
            "id": 9 | "id": 3 | added_tokens[1]: id 3 of "<x>" belongs to another token
            "id": 3 | "id": 8 | another token (expected: 3
            "content": "<x>" | "content": "" | added_tokens[1].content: missing or empty
            "content": "<x>"} | "content": "<x>", "normalized": true} | OK
            "merges": [["a", "b"]] | "merges": [["a", "zz"]] | not a usable tokenizer
            "vocab": { | "vocab": [], "other": { | vocab: not an object
            "model": { | "modell": { | model: missing
            """)
    void aDamagedFileIsRefusedByName(String from, String to, String message) throws IOException {
        assertThat(GOOD).contains(from);
        String text = GOOD.replace(from, to);
        if (message.equals("OK")) {
            load(text).close();
            text = text.replace("\"normalizer\": null", "\"normalizer\": {\"type\": \"Lowercase\"}");
            message = "normalizer.type: Lowercase (expected: NFC or NFD";
        }
        String damaged = text;
        assertThatThrownBy(() -> load(damaged))
                .isInstanceOfSatisfying(
                        MillraceException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.INVALID_CHECKPOINT))
                .hasMessageContaining(folder.resolve("tokenizer.json").toString())
                .hasMessageContaining(message);
    }

    @Test
    void missingEmptyAndCutFilesAreRefusedByName() throws IOException {
        String file = folder.resolve("tokenizer.json").toString();
        assertThatThrownBy(() -> Tokenizer.load(folder)).hasMessage(file + ": no such file");
        assertThatThrownBy(() -> load("")).hasMessageContaining(file);
        assertThatThrownBy(() -> load("[]")).hasMessage(file + ": is not a JSON object");
        for (int length = 1; length < GOOD.strip().length(); length += 97) {
            String cut = GOOD.strip().substring(0, length);
            assertThatThrownBy(() -> load(cut))
                    .isInstanceOf(MillraceException.class)
                    .hasMessageContaining(file);
        }
        assertThatThrownBy(() -> load(GOOD + "{}")).hasMessageContaining(file);
    }

    private Tokenizer load(String json) throws IOException {
        Files.writeString(folder.resolve("tokenizer.json"), json);
        return Tokenizer.load(folder);
    }
}
