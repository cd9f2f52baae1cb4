package io.millrace.engine.tokenizer;

import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.engine.file.RegularFile;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.DeserializationFeature;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/// A checked `tokenizer.json`, taken apart.
///
/// @param file         where it was read from
/// @param vocabulary   all ids
/// @param addedTokens  in the file's order
/// @param spelling     what it does to text before it looks for tokens
/// @param cuts         where long texts are cut
/// @param modelJson    the same tokenizer without added tokens, post-processor, truncation and padding:
///                     it sees only text between added tokens and cannot make one of them
record TokenizerFile(
        Path file,
        Vocabulary vocabulary,
        List<AddedToken> addedTokens,
        LeastTokens.Spelling spelling,
        TextCuts cuts,
        String modelJson) {
    private static final String FILE_NAME = "tokenizer.json";
    private static final long MAX_FILE_BYTES = 256L << 20;
    private static final int MAX_VOCABULARY = 1 << 22;

    /// @param dirOrFile  a `tokenizer.json` or the folder that holds it
    static TokenizerFile read(Path dirOrFile) {
        Path file = Files.isDirectory(dirOrFile) ? dirOrFile.resolve(FILE_NAME) : dirOrFile;
        return new Reader(file).read();
    }

    private static final class Reader {
        private final Path file;

        Reader(Path file) {
            this.file = file;
        }

        TokenizerFile read() {
            ObjectNode root = root();
            check(root);
            ObjectNode model = object(root, "model");
            Map<String, Integer> modelTokens = modelTokens(object(model, "vocab"));
            List<AddedToken> addedTokens = addedTokens(root.path("added_tokens"), modelTokens);
            checkNormalizer(root.path("normalizer"), addedTokens);
            int size = size(modelTokens, addedTokens);
            Vocabulary vocabulary = new Vocabulary(size, modelTokens, addedTokens);
            LeastTokens.Spelling spelling = TokenizerSteps.spelling(root);
            TextCuts cuts = TextCuts.of(root);
            strip(root, model, addedTokens);
            return new TokenizerFile(file, vocabulary, addedTokens, spelling, cuts, root.toString());
        }

        private ObjectNode root() {
            try {
                if (!Files.exists(file)) {
                    throw bad("no such file");
                }
                if (RegularFile.isOther(file)) {
                    throw bad("not a regular file (expected: a readable file)");
                }
                long sizeBytes = Files.size(file);
                if (sizeBytes > MAX_FILE_BYTES) {
                    throw bad("size: " + sizeBytes + " bytes (expected: at most " + MAX_FILE_BYTES + ")");
                }
                JsonMapper mapper = JsonMapper.builder()
                        .enable(DeserializationFeature.FAIL_ON_READING_DUP_TREE_KEY)
                        .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
                        .build();
                if (mapper.readTree(Files.readAllBytes(file)) instanceof ObjectNode root) {
                    return root;
                }
                throw bad("is not a JSON object");
            } catch (IOException e) {
                throw bad("cannot be read: " + e.getMessage(), e);
            } catch (JacksonException e) {
                throw bad("is not valid JSON: " + e.getOriginalMessage(), e);
            }
        }

        private void check(ObjectNode root) {
            String modelType = object(root, "model").path("type").asString("BPE");
            if (!modelType.equals("BPE")) {
                throw bad("model.type: " + modelType + " (expected: BPE)");
            }
            JsonNode decoder = root.path("decoder");
            String decoderType = decoder.path("type").asString("none");
            if (decoderType.equals("Sequence") && decoder.path("decoders").size() == 1) {
                decoderType = decoder.path("decoders").path(0).path("type").asString("none");
            }
            if (!decoderType.equals("ByteLevel")) {
                throw bad("decoder.type: " + decoderType + " (expected: ByteLevel)");
            }
        }

        private Map<String, Integer> modelTokens(ObjectNode vocab) {
            Map<String, Integer> tokens = HashMap.newHashMap(vocab.size());
            Map<Integer, String> spellings = HashMap.newHashMap(vocab.size());
            for (Map.Entry<String, JsonNode> entry : vocab.properties()) {
                int id = id(entry.getValue(), "model.vocab[\"" + entry.getKey() + "\"]");
                tokens.put(entry.getKey(), id);
                String other = spellings.put(id, entry.getKey());
                if (other != null) {
                    throw bad("model.vocab: id " + id + " is given to both \"" + other + "\" and \"" + entry.getKey()
                            + "\"");
                }
            }
            return tokens;
        }

        private List<AddedToken> addedTokens(JsonNode array, Map<String, Integer> modelTokens) {
            List<AddedToken> tokens = new ArrayList<>();
            Set<Integer> modelIds = new HashSet<>(modelTokens.values());
            Map<Integer, String> contents = new HashMap<>();
            for (JsonNode node : array) {
                String key = "added_tokens[" + tokens.size() + "]";
                String content = node.path("content").asString("");
                if (content.isEmpty()) {
                    throw bad(key + ".content: missing or empty (expected: text)");
                }
                AddedToken token = new AddedToken(
                        id(node.path("id"), key + ".id"),
                        content,
                        node.path("special").asBoolean(false),
                        node.path("single_word").asBoolean(false),
                        node.path("lstrip").asBoolean(false),
                        node.path("rstrip").asBoolean(false),
                        node.path("normalized").asBoolean(false));
                Integer modelId = modelTokens.get(content);
                boolean fits = modelId == null ? !modelIds.contains(token.id()) : modelId == token.id();
                if (!fits || contents.put(token.id(), content) != null) {
                    throw bad(key + ": id " + token.id() + " of \"" + content + "\" belongs to another token"
                            + (modelId == null ? "" : " (expected: " + modelId + ", as in model.vocab)"));
                }
                tokens.add(token);
            }
            return List.copyOf(tokens);
        }

        /// Tokens marked `normalized` are compared with the text as written. That is right without a
        /// normaliser and with those that leave the spelling of such tokens alone.
        private void checkNormalizer(JsonNode normalizer, List<AddedToken> addedTokens) {
            if (normalizer.isNull()
                    || normalizer.isMissingNode()
                    || addedTokens.stream().noneMatch(AddedToken::normalized)) {
                return;
            }
            for (JsonNode step : TokenizerSteps.of(normalizer, "normalizers")) {
                String type = step.path("type").asString("");
                if (!TokenizerSteps.SPELLING_KEEPERS.contains(type)) {
                    throw bad("normalizer.type: " + type + " (expected: NFC or NFD, as added tokens with"
                            + " \"normalized\": true are there)");
                }
            }
        }

        private int size(Map<String, Integer> modelTokens, List<AddedToken> addedTokens) {
            int largest = -1;
            for (int id : modelTokens.values()) {
                largest = Math.max(largest, id);
            }
            for (AddedToken token : addedTokens) {
                largest = Math.max(largest, token.id());
            }
            if (largest < 0) {
                throw bad("model.vocab: no tokens");
            }
            return largest + 1;
        }

        /// Takes out all that could turn text between added tokens into an added token. Such a token may
        /// stand in the model's own vocabulary too, where a model with `ignore_merges` would find it; it
        /// leaves, unless
        /// a merge makes or needs it.
        private static void strip(ObjectNode root, ObjectNode model, List<AddedToken> addedTokens) {
            root.putArray("added_tokens");
            root.putNull("post_processor");
            root.putNull("truncation");
            root.putNull("padding");
            Set<String> needed = new HashSet<>();
            needed.add(model.path("unk_token").asString(""));
            if (model.get("merges") instanceof ArrayNode merges) {
                for (JsonNode merge : merges) {
                    String[] pair = merge.isArray()
                            ? new String[] {
                                merge.path(0).asString(""), merge.path(1).asString("")
                            }
                            : merge.asString("").split(" ", 2);
                    needed.add(pair[0]);
                    needed.add(pair[pair.length - 1]);
                    needed.add(String.join("", pair));
                }
            }
            ObjectNode vocab = (ObjectNode) model.path("vocab");
            for (AddedToken token : addedTokens) {
                if (token.content().length() > 1 && !needed.contains(token.content())) {
                    vocab.remove(token.content());
                }
            }
        }

        private int id(JsonNode node, String key) {
            if (!node.isInt() || node.intValue() < 0 || node.intValue() >= MAX_VOCABULARY) {
                throw bad(key + ": " + (node.isMissingNode() ? "missing" : node.toString()) + " (expected: 0.."
                        + (MAX_VOCABULARY - 1) + ")");
            }
            return node.intValue();
        }

        private ObjectNode object(ObjectNode parent, String key) {
            if (parent.path(key) instanceof ObjectNode child) {
                return child;
            }
            throw bad(key + ": " + (parent.has(key) ? "not an object" : "missing") + " (expected: an object)");
        }

        private MillraceException bad(String what) {
            return bad(what, null);
        }

        private MillraceException bad(String what, @Nullable Throwable cause) {
            return new MillraceException(ErrorCode.INVALID_CHECKPOINT, file + ": " + what, cause);
        }
    }
}
