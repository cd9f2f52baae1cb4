package io.millrace.engine.tokenizer;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.engine.text.MarkedText;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Random;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

class LeastTokensTest {
    private static final long SEED = Long.getLong("millrace.seed", 20261201L);
    private static final JsonMapper JSON = JsonMapper.shared();
    private static final String STRIPPING =
            "[{\"id\": 5000, \"content\": \"<both>\", \"lstrip\": true, \"rstrip\": true}]";
    private static final List<String> PIECES = List.of(
            "a",
            "b",
            "the",
            " the ",
            "int",
            "    ",
            "--------",
            "=",
            "\n",
            "\r\n",
            "\t",
            "<|user|>",
            "<both>",
            "[gMASK]",
            "é",
            "e\u0301",
            "\u212A",
            "\u1FEF",
            "\u1FBE\u0308\u0301",
            "\u1112\u1161\u11AB",
            "快",
            "🙂",
            "\u2003",
            "7",
            "ElementTypesAreNonnullByDefault",
            "\u0000",
            "�");

    @TempDir
    Path folder;

    private Tokenizer load(Consumer<ObjectNode> change) throws IOException {
        Path file = MiniModel.directory().resolve("tokenizer.json");
        ObjectNode root = (ObjectNode) JSON.readTree(Files.readString(file));
        change.accept(root);
        return Tokenizer.load(Files.writeString(folder.resolve("tokenizer.json"), root.toString()));
    }

    private static String randomText(Random random) {
        StringBuilder text = new StringBuilder();
        for (int i = random.nextInt(1, 12); i > 0; i--) {
            text.append(PIECES.get(random.nextInt(PIECES.size())).repeat(random.nextInt(1, 40)));
        }
        return text.toString();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "{}",
                "{\"normalizer\": {\"type\": \"Sequence\", \"normalizers\": []}}",
                "{\"normalizer\": {\"type\": \"NFC\"}}",
                "{\"normalizer\": {\"type\": \"Sequence\", \"normalizers\": [{\"type\": \"NFD\"}]}}",
                "{\"added_tokens\": " + STRIPPING + "}",
                "{\"pre_tokenizer\": {\"type\": \"ByteLevel\", \"add_prefix_space\": true,"
                        + " \"trim_offsets\": true, \"use_regex\": false}}",
            })
    void isNeverMoreThanThereAre(String changes) throws IOException {
        Random random = new Random(SEED);
        try (Tokenizer tokenizer = load(root -> root.setAll((ObjectNode) JSON.readTree(changes)))) {
            for (int round = 0; round < 1000; round++) {
                String text = randomText(random);
                int least = tokenizer.leastTokens(text);
                assertThat(least)
                        .as("seed %d, round %d: \"%s\"", SEED, round, text)
                        .isNotNegative()
                        .isLessThanOrEqualTo(tokenizer.encode(text).length)
                        .isLessThanOrEqualTo(tokenizer.encode(MarkedText.fromCaller(text)).length);
            }
            String rest = "a normal word, and 1234567 more\n".repeat(1000);
            assertThat(tokenizer.leastTokens(rest)).isGreaterThan(rest.length() / 64);
        }
    }

    @Test
    void isWhatThereIsWhereOneLongTokenComesAgainAndAgain() throws IOException {
        try (Tokenizer tokenizer = load(_ -> {})) {
            String dashes = "-".repeat(64);
            assertThat(tokenizer.encode(dashes)).hasSize(1);
            assertThat(tokenizer.leastTokens(dashes)).isOne();
            assertThat(tokenizer.leastTokens(dashes.repeat(1000))).isEqualTo(1000);
            assertThat(tokenizer.leastTokens("")).isZero();
        }
    }

    /// Text may vanish there.
    @ParameterizedTest
    @ValueSource(
            strings = {
                "{\"normalizer\": {\"type\": \"Strip\", \"strip_left\": true, \"strip_right\": true}}",
                "{\"normalizer\": {\"type\": \"Sequence\","
                        + " \"normalizers\": [{\"type\": \"NFC\"}, {\"type\": \"Lowercase\"}]}}",
                "{\"pre_tokenizer\": {\"type\": \"Sequence\", \"pretokenizers\": [{\"type\": \"WhitespaceSplit\"},"
                        + " {\"type\": \"ByteLevel\", \"add_prefix_space\": false, \"trim_offsets\": true,"
                        + " \"use_regex\": false}]}}",
                "{\"pre_tokenizer\": {\"type\": \"Sequence\", \"pretokenizers\": [{\"type\": \"Split\", \"pattern\":"
                        + " {\"String\": \"a\"}, \"behavior\": \"Removed\", \"invert\": false},"
                        + " {\"type\": \"ByteLevel\", \"add_prefix_space\": false, \"trim_offsets\": true,"
                        + " \"use_regex\": false}]}}",
                "{\"pre_tokenizer\": null}",
            })
    void isNothingWhereTextMayVanish(String changes) throws IOException {
        try (Tokenizer tokenizer = load(root -> root.setAll((ObjectNode) JSON.readTree(changes)))) {
            assertThat(tokenizer.leastTokens("aaaa bbbb".repeat(1000))).isZero();
        }
    }

    @Test
    void countsNoBytesThatNoTokenStandsFor() throws IOException {
        try (Tokenizer tokenizer = load(root -> {
            ObjectNode model = (ObjectNode) root.get("model");
            model.putArray("merges");
            model.putObject("vocab").put("a", 0).put("b", 1);
            root.putArray("added_tokens");
        })) {
            assertThat(tokenizer.encode("axbx")).containsExactly(0, 1);
            assertThat(tokenizer.leastTokens("axbx")).isEqualTo(2);
        }
    }
}
