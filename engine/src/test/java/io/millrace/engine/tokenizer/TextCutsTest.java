package io.millrace.engine.tokenizer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ai.djl.huggingface.tokenizers.HuggingFaceTokenizer;
import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

class TextCutsTest {
    private static final long SEED = Long.getLong("millrace.seed", 20261202L);
    private static final Path FILE = MiniModel.directory().resolve("tokenizer.json");
    private static final Map<String, String> OPTIONS =
            Map.of("addSpecialTokens", "false", "truncation", "do_not_truncate", "padding", "do_not_pad");
    private static final List<String> PIECES = List.of(
            "a",
            "Z",
            "word",
            "it's",
            "'S",
            "'ll",
            "'r",
            "e",
            "I'VE",
            "'",
            "\u2019s",
            "\u017F",
            " ",
            "  ",
            "   ",
            "\n",
            "\r\n",
            "\n\n",
            "\t",
            "\u00A0",
            "\u3000",
            "1",
            "12",
            "1234567",
            "\u0663",
            "\u2167",
            "-",
            "--",
            "!?",
            "{}();",
            ".",
            "\u3002",
            "\uFF0C",
            "\u5FEB",
            "\u5FEB\u901F",
            "\u306B",
            "\u30AB",
            "\u30FC",
            "\uAC00",
            "\u00E9",
            "e\u0301",
            "\u0301",
            "\u200D",
            "\uD83D\uDE42",
            "\u0000",
            "\u007F",
            "\u0085",
            "\uFEFF");

    private static ObjectNode root() throws IOException {
        return (ObjectNode) JsonMapper.shared().readTree(Files.readString(FILE));
    }

    private static String randomText(Random random, int pieces) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < pieces; i++) {
            text.append(PIECES.get(random.nextInt(PIECES.size())));
        }
        return text.toString();
    }

    @Test
    void piecesGiveTheIdsOfTheWhole() throws IOException {
        TextCuts cuts = TextCuts.of(root(), 1);
        Random random = new Random(SEED);
        long pieces = 0;
        try (HuggingFaceTokenizer library = HuggingFaceTokenizer.newInstance(FILE, OPTIONS)) {
            for (int round = 0; round < 4000; round++) {
                String text = randomText(random, random.nextInt(2, 20));
                TokenIds ids = new TokenIds();
                int end;
                for (int from = 0; from < text.length(); from = end) {
                    end = cuts.next(text, from, text.length());
                    ids.addAll(library.encode(text.substring(from, end), false, false)
                            .getIds());
                    pieces++;
                }
                assertThat(ids.toArray())
                        .as("seed %d, round %d: \"%s\"", SEED, round, text)
                        .containsExactly(ids(library, text));
            }
        }
        assertThat(pieces).isGreaterThan(10_000);
    }

    @Test
    void aLongTextHasTheIdsOfTheLibrary() throws IOException {
        String text = randomText(new Random(SEED), 100_000);
        try (Tokenizer ours = Tokenizer.load(FILE);
                HuggingFaceTokenizer library = HuggingFaceTokenizer.newInstance(FILE, OPTIONS)) {
            assertThat(ours.encode(text)).containsExactly(ids(library, text));
        }
    }

    private static int[] ids(HuggingFaceTokenizer library, String text) {
        return Arrays.stream(library.encode(text, false, false).getIds())
                .mapToInt(Math::toIntExact)
                .toArray();
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "/normalizer                             | {\"type\": \"NFC\"}",
                "/pre_tokenizer/pretokenizers/0/pattern  | {\"Regex\": \"\\\\p{L}+ \"}",
                "/pre_tokenizer/pretokenizers/0/behavior | \"MergedWithNext\"",
                "/pre_tokenizer/pretokenizers/0/invert   | true",
                "/pre_tokenizer/pretokenizers/1/add_prefix_space | true",
                "/pre_tokenizer/pretokenizers/1/use_regex | true",
                "/model/end_of_word_suffix               | \"</w>\"",
            })
    void aTokenizerThatIsNotKnownCutsNothing(String path, String value) throws IOException {
        ObjectNode root = root();
        assertThat(TextCuts.of(root, 1).next("one two", 0, 7)).isEqualTo(3);
        int name = path.lastIndexOf('/');
        ((ObjectNode) root.at(path.substring(0, name)))
                .set(path.substring(name + 1), JsonMapper.shared().readTree(value));

        assertThat(TextCuts.of(root, 1).next("one two", 0, 7)).isEqualTo(7);
    }

    @Test
    void anInterruptEndsTheWorkOnALongText() {
        try (Tokenizer tokenizer = Tokenizer.load(FILE)) {
            Thread.currentThread().interrupt();
            assertThatThrownBy(() -> tokenizer.encode("word ".repeat(10_000)))
                    .isInstanceOfSatisfying(
                            MillraceException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.CANCELLED));
            assertThat(Thread.interrupted()).isTrue();
            assertThat(tokenizer.encode("word ".repeat(10_000))).hasSizeGreaterThan(10_000);
        }
    }
}
