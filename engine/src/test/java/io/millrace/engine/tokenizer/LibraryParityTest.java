package io.millrace.engine.tokenizer;

import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.huggingface.tokenizers.HuggingFaceTokenizer;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/// Our matching of added tokens and our decoding against the library's, which gets the whole `tokenizer.json`.
class LibraryParityTest {
    private static final long SEED = Long.getLong("millrace.seed", 20261130L);
    private static final Map<String, String> OPTIONS =
            Map.of("addSpecialTokens", "false", "truncation", "do_not_truncate", "padding", "do_not_pad");
    private static final List<String> PIECES = List.of(
            "<a>", "<a><b>", "<b>", "<left>", "<right>", "<both>", "word", "<norm>", "<norm2>", "wo", "r", " ", "  ",
            "\n", "\u00A0", "\t", "x", "_", "1", "é", "🙂", "<", ">", "<a", "快", "\u200D", "-");

    @TempDir
    Path folder;

    @Test
    void everyFlagOfAddedTokensWorksAsInTheLibrary() throws IOException {
        Path file = withAddedTokens();
        Random random = new Random(SEED);
        try (Tokenizer ours = Tokenizer.load(file);
                HuggingFaceTokenizer theirs = HuggingFaceTokenizer.newInstance(file, OPTIONS)) {
            for (int round = 0; round < 3000; round++) {
                StringBuilder text = new StringBuilder();
                for (int i = random.nextInt(1, 14); i > 0; i--) {
                    text.append(PIECES.get(random.nextInt(PIECES.size())));
                }
                int[] expected =
                        toInts(theirs.encode(text.toString(), false, false).getIds());
                assertThat(ours.encode(text.toString()))
                        .as("seed %d, round %d: \"%s\"", SEED, round, text)
                        .containsExactly(expected);
            }
        }
    }

    @Test
    void decodesAnyIdsLikeTheLibraryWholeAndPiecewise() throws IOException {
        Path file = withAddedTokens();
        Random random = new Random(SEED);
        try (Tokenizer ours = Tokenizer.load(file);
                HuggingFaceTokenizer theirs = HuggingFaceTokenizer.newInstance(file, OPTIONS)) {
            for (int round = 0; round < 3000; round++) {
                // The first 256 ids are single bytes: mostly broken UTF-8.
                int bound = random.nextBoolean() ? 256 : ours.vocabSize();
                int[] ids = random.ints(random.nextInt(1, 24), 0, bound).toArray();
                boolean skipSpecial = random.nextBoolean();
                String expected =
                        theirs.decode(Arrays.stream(ids).asLongStream().toArray(), skipSpecial);
                assertThat(ours.decode(ids, skipSpecial))
                        .as("seed %d, round %d", SEED, round)
                        .isEqualTo(expected);

                Detokenizer pieces = ours.detokenizer(skipSpecial);
                StringBuilder joined = new StringBuilder();
                for (int id : ids) {
                    joined.append(pieces.accept(id));
                }
                assertThat(joined.append(pieces.flush()).toString()).isEqualTo(expected);
            }
        }
    }

    private Path withAddedTokens() throws IOException {
        JsonMapper mapper = new JsonMapper();
        ObjectNode root = (ObjectNode)
                mapper.readTree(Files.readAllBytes(MiniModel.directory().resolve("tokenizer.json")));
        ArrayNode added = root.putArray("added_tokens");
        add(added, "<a>", "special");
        add(added, "<a><b>", "special");
        add(added, "<left>", "special", "lstrip");
        add(added, "<right>", "rstrip");
        add(added, "<both>", "special", "lstrip", "rstrip");
        add(added, "word", "single_word");
        add(added, "<norm>", "normalized", "special");
        add(added, "<norm2>", "normalized", "single_word", "lstrip");
        Path file = folder.resolve("tokenizer.json");
        Files.writeString(file, root.toString());
        return file;
    }

    private static void add(ArrayNode added, String content, String... flags) {
        ObjectNode token = added.addObject().put("id", 4060 + added.size() - 1).put("content", content);
        for (String flag : List.of("single_word", "lstrip", "rstrip", "normalized", "special")) {
            token.put(flag, List.of(flags).contains(flag));
        }
    }

    private static int[] toInts(long[] ids) {
        return Arrays.stream(ids).mapToInt(Math::toIntExact).toArray();
    }
}
