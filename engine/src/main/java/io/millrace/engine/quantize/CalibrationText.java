package io.millrace.engine.quantize;

import io.millrace.engine.chat.ChatInput;
import io.millrace.engine.chat.ChatMessages;
import io.millrace.engine.chat.ChatTemplate;
import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.engine.file.JsonFault;
import io.millrace.engine.file.RegularFile;
import io.millrace.engine.tokenizer.Tokenizer;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.core.StreamReadFeature;
import tools.jackson.core.type.TypeReference;
import tools.jackson.databind.DeserializationFeature;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/// Text that inputs are learnt from and losses are measured on: a file given, else [#FILE] in the
/// model's folder, else a few dozen dialogues that come with the engine. Each fourth sequence is held
/// back for measuring, of fewer the last, of a single one its last quarter; less than four tokens serve for both.
///
/// A file ending in `.jsonl` has an object on each line: `{"messages": […]}`, put through the model's
/// chat template with the optional `"tools": […]`; `{"text": "…"}`; or `{"ids": […]}`, with an optional
/// `"mask"` of 0 and 1 that says which tokens' losses count. Any other file is plain text, paragraphs
/// being joined up to the longest sequence. A line of messages or text, and a plain text, has at most
/// [#MAX_CHARACTERS] characters, as it is tokenized at once, and more could not be used.
///
/// @param calibration  inputs are learnt from these
/// @param evaluation   losses are measured on these
/// @param origin       whose text this is
public record CalibrationText(
        List<TokenSequence> calibration, List<TokenSequence> evaluation, CalibrationOrigin origin) {
    /// A model's own text, in its folder.
    public static final String FILE = "calibration.jsonl";

    /// More than the most tokens that are used have in any common text, and tokenized in seconds.
    public static final int MAX_CHARACTERS = 8 << 20;

    private static final String BUILT_IN = "calibration.jsonl";
    private static final List<String> KINDS = List.of("messages", "text", "ids");
    private static final String LINE = "an object with a list of messages, a text, or a list of ids";
    private static final JsonMapper LINES = JsonMapper.builder()
            .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
            .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
            .build();
    private static final int MAX_KEYS_TOLD = 5;
    private static final int HELD_BACK = 4;
    private static final int MAX_SEQUENCE = 512;
    private static final long MAX_FILE_BYTES = 64 << 20;
    private static final long MAX_TOKENS = 1 << 20;

    public CalibrationText {
        calibration = List.copyOf(calibration);
        evaluation = List.copyOf(evaluation);
    }

    /// Reads a text for a model.
    ///
    /// @param model      folder with tokenizer and, perhaps, chat template and a text of its own
    /// @param vocabSize  of the model
    /// @param given      null for the model's own text or, if it has none, the one that comes with the engine
    /// @throws MillraceException `INVALID_REQUEST`, naming file and line
    public static CalibrationText read(Path model, int vocabSize, @Nullable Path given) throws IOException {
        if (given != null) {
            return read(model, vocabSize, given, CalibrationOrigin.GIVEN);
        }
        Path own = model.resolve(FILE);
        // A link that leads nowhere is a fault to be told, and no reason to take another text.
        return Files.exists(own, LinkOption.NOFOLLOW_LINKS)
                ? read(model, vocabSize, own, CalibrationOrigin.MODEL)
                : read(model, vocabSize, null, CalibrationOrigin.BUILT_IN);
    }

    private static CalibrationText read(Path model, int vocabSize, @Nullable Path file, CalibrationOrigin origin)
            throws IOException {
        List<TokenSequence> all;
        String name = file == null ? origin.words() : file.toString();
        boolean byLine = file == null || name.endsWith(".jsonl");
        try (Tokenizer tokenizer = Tokenizer.load(model)) {
            all = new Reader(tokenizer, template(model), vocabSize, name).read(text(file), byLine);
        }
        if (all.isEmpty()) {
            throw invalid(name + ": no text (expected: at least two tokens)");
        }
        if (all.size() == 1 && all.getFirst().length() >= 4) {
            TokenSequence only = all.getFirst();
            int cut = Math.min(only.length() - 2, only.length() * (HELD_BACK - 1) / HELD_BACK);
            all = List.of(only.part(0, cut), only.part(cut, only.length()));
        }
        List<TokenSequence> calibration = new ArrayList<>();
        List<TokenSequence> evaluation = new ArrayList<>();
        int every = Math.min(HELD_BACK, all.size());
        for (int i = 0; i < all.size(); i++) {
            (i % every == every - 1 ? evaluation : calibration).add(all.get(i));
        }
        return new CalibrationText(calibration.isEmpty() ? evaluation : calibration, evaluation, origin);
    }

    private static Optional<ChatTemplate> template(Path model) {
        return ChatTemplate.load(model, Clock.fixed(Instant.EPOCH, ZoneOffset.UTC));
    }

    private static String text(@Nullable Path file) throws IOException {
        if (file == null) {
            try (InputStream in =
                    Objects.requireNonNull(CalibrationText.class.getResourceAsStream(BUILT_IN), BUILT_IN)) {
                return new String(in.readAllBytes(), StandardCharsets.UTF_8);
            }
        }
        if (!Files.exists(file)) {
            throw invalid(file + ": no such file (expected: a text file)");
        }
        if (RegularFile.isOther(file)) {
            throw invalid(file + ": not a regular file (expected: a text file)");
        }
        if (Files.size(file) > MAX_FILE_BYTES) {
            throw invalid(file + ": " + Files.size(file) + " bytes (expected: at most " + MAX_FILE_BYTES + ")");
        }
        return decoded(file, Files.readAllBytes(file));
    }

    private static String decoded(Path file, byte[] bytes) {
        ByteBuffer in = ByteBuffer.wrap(bytes);
        CharBuffer text = CharBuffer.allocate(bytes.length);
        // No byte becomes more than one character.
        if (StandardCharsets.UTF_8.newDecoder().decode(in, text, true).isError()) {
            throw invalid(file + ": no UTF-8 at byte offset " + in.position() + " (expected: a text file in UTF-8)");
        }
        return text.flip().toString();
    }

    private static MillraceException invalid(String message) {
        return MillraceException.ofParam(ErrorCode.INVALID_REQUEST, "calibration", message);
    }

    private static final class Reader {
        private final Tokenizer tokenizer;
        private final Optional<ChatTemplate> template;
        private final int vocabSize;
        private final String name;
        private final List<TokenSequence> sequences = new ArrayList<>();
        private long tokens;

        Reader(Tokenizer tokenizer, Optional<ChatTemplate> template, int vocabSize, String name) {
            this.tokenizer = tokenizer;
            this.template = template;
            this.vocabSize = vocabSize;
            this.name = name;
        }

        List<TokenSequence> read(String text, boolean byLine) {
            if (!byLine) {
                requireShort(text, name);
                split(tokenizer.encode(text), null, name);
                return sequences;
            }
            int number = 0;
            for (String line : text.split("\n", -1)) {
                number++;
                if (!line.isBlank()) {
                    addLine(line, name + ":" + number);
                }
            }
            return sequences;
        }

        private static void requireShort(String text, String where) {
            if (text.length() > MAX_CHARACTERS) {
                throw invalid(where + ": " + text.length() + " characters (expected: at most " + MAX_CHARACTERS
                        + " in a line, or in a plain text)");
            }
        }

        private void addLine(String line, String where) {
            JsonNode node;
            try {
                node = LINES.readTree(line);
            } catch (JacksonException e) {
                throw invalid(
                        where + ": " + JsonFault.ofLine(e, LINES.createParser(line)) + " (expected: " + LINE + ")");
            }
            if (!node.has("ids")) {
                requireShort(line, where);
            }
            long kinds = KINDS.stream().filter(node::has).count();
            if (kinds == 1 && node.path("ids").isArray()) {
                int[] ids = numbers(node.path("ids"), vocabSize, where + ": ids");
                split(ids, mask(node, ids.length, where), where);
            } else if (kinds == 1 && node.path("text").isString()) {
                split(located(where, () -> tokenizer.encode(node.path("text").stringValue())), null, where);
            } else if (kinds == 1 && node.path("messages").isArray()) {
                split(located(where, () -> dialogue(node)), null, where);
            } else {
                throw invalid(where + ": " + found(node) + " (expected: " + LINE + ")");
            }
        }

        private static int @Nullable [] mask(JsonNode node, int tokens, String where) {
            JsonNode mask = node.path("mask");
            if (mask.isMissingNode()) {
                return null;
            }
            if (!mask.isArray()) {
                throw invalid(where + ": mask: no list (expected: one of 0 and 1)");
            }
            if (mask.size() != tokens) {
                throw invalid(where + ": mask of " + mask.size() + " (expected: " + tokens + ", as many as ids)");
            }
            return numbers(mask, 2, where + ": mask");
        }

        private static String found(JsonNode node) {
            if (!node.isObject()) {
                return "no JSON object";
            }
            return node.isEmpty()
                    ? "an object without keys"
                    : node.propertyNames().stream()
                            .limit(MAX_KEYS_TOLD)
                            .collect(Collectors.joining(", ", "an object with ", ""));
        }

        private int[] dialogue(JsonNode node) {
            return render(
                    ChatMessages.normalise(plain(node.path("messages"))),
                    ChatMessages.normaliseTools(node.has("tools") ? plain(node.path("tools")) : null));
        }

        /// What is refused is told with its place.
        private static int[] located(String where, Supplier<int[]> ids) {
            try {
                return ids.get();
            } catch (MillraceException e) {
                throw new MillraceException(e.code(), where + ": " + e.getMessage(), "calibration", 0, e);
            }
        }

        private static @Nullable Object plain(JsonNode node) {
            return LINES.convertValue(node, new TypeReference<@Nullable Object>() {});
        }

        private int[] render(List<Map<String, @Nullable Object>> messages, List<Map<String, @Nullable Object>> tools) {
            if (template.isPresent()) {
                return tokenizer.encode(template.get().render(new ChatInput(messages, tools, false, Map.of())));
            }
            StringBuilder text = new StringBuilder();
            messages.forEach(message -> text.append(message.get("content")).append('\n'));
            return tokenizer.encode(text.toString());
        }

        private void split(int[] ids, int @Nullable [] mask, String where) {
            for (int from = 0; from < ids.length; from += MAX_SEQUENCE) {
                int to = Math.min(ids.length, from + MAX_SEQUENCE);
                if (to - from > 1) {
                    boolean[] counted = new boolean[to - from];
                    for (int i = from; i < to; i++) {
                        counted[i - from] = mask == null || mask[i] == 1;
                    }
                    sequences.add(new TokenSequence(Arrays.copyOfRange(ids, from, to), counted));
                    tokens += to - from;
                }
            }
            if (tokens > MAX_TOKENS) {
                throw invalid(where + ": " + tokens + " tokens so far (expected: at most " + MAX_TOKENS + ")");
            }
        }

        private static int[] numbers(JsonNode array, int below, String where) {
            int[] values = new int[array.size()];
            for (int i = 0; i < values.length; i++) {
                JsonNode node = array.get(i);
                if (!node.isInt() || node.intValue() < 0 || node.intValue() >= below) {
                    throw invalid(where + "[" + i + "]: " + node + " (expected: 0.." + (below - 1) + ")");
                }
                values[i] = node.intValue();
            }
            return values;
        }
    }
}
