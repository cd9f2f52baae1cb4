package io.millrace.standalone.command;

import io.millrace.engine.error.MillraceException;
import io.millrace.engine.file.JsonFault;
import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tools.jackson.core.JacksonException;
import tools.jackson.core.StreamReadFeature;
import tools.jackson.databind.DeserializationFeature;
import tools.jackson.databind.json.JsonMapper;

/// Answers JSON objects, one a line, in order: a line that cannot be answered gets `{"error": "…"}` and the
/// next one goes on. Blank lines are counted and skipped. Each answer is flushed, so a program can hold a dialogue.
final class JsonLines {
    private static final Logger LOG = LoggerFactory.getLogger(JsonLines.class);
    private static final int MAX_LINE_BYTES = 64 << 20;

    private final JsonMapper mapper = JsonMapper.builder()
            .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
            .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
            .build();
    private final Answerer answerer;

    /// Turns the object of a line into the object of the answer.
    @FunctionalInterface
    interface Answerer {
        /// @throws MillraceException whose message becomes the answer's `error`
        Map<String, @Nullable Object> answer(Map<String, @Nullable Object> line);
    }

    JsonLines(Answerer answerer) {
        this.answerer = answerer;
    }

    /// Reads to the end of the input.
    void run(InputStream in, PrintStream out) throws IOException {
        InputStream buffered = new BufferedInputStream(in);
        Line line = nextLine(buffered);
        for (long number = 1; line != null; number++) {
            if (!line.isBlank()) {
                out.println(mapper.writeValueAsString(answer(line, number)));
                out.flush();
            }
            line = nextLine(buffered);
        }
    }

    private Map<String, @Nullable Object> answer(Line line, long number) {
        String place = "line " + number + ": ";
        String text = "";
        try {
            if (line.tooLong()) {
                return error(place + "longer than " + MAX_LINE_BYTES + " bytes");
            }
            text = StandardCharsets.UTF_8
                    .newDecoder()
                    .decode(ByteBuffer.wrap(line.content().toByteArray()))
                    .toString();
            return answer(mapper.readValue(text, Object.class), place);
        } catch (CharacterCodingException e) {
            return error(place + "not UTF-8");
        } catch (JacksonException e) {
            return error(place + JsonFault.ofLine(e, mapper.createParser(text)));
        } catch (MillraceException e) {
            return error(String.valueOf(e.getMessage()));
        } catch (RuntimeException e) {
            LOG.error("a line could not be answered", e);
            return error("internal error: " + e);
        }
    }

    private Map<String, @Nullable Object> answer(@Nullable Object value, String place) {
        if (!(value instanceof Map<?, ?> map)) {
            return error(place + "not a JSON object");
        }
        String broken = halfSurrogate(map);
        if (broken != null) {
            return error(place + "half a surrogate pair in \"" + broken + "\" (expected: whole characters)");
        }
        Map<String, @Nullable Object> line = new LinkedHashMap<>();
        map.forEach((key, element) -> line.put((String) key, element));
        return answerer.answer(line);
    }

    private static Map<String, @Nullable Object> error(String sentence) {
        Map<String, @Nullable Object> answer = new LinkedHashMap<>();
        answer.put("error", sentence);
        return answer;
    }

    /// The outermost key below which a text is broken; written out it would silently be another text.
    private static @Nullable String halfSurrogate(Map<?, ?> map) {
        for (Map.Entry<?, ?> entry : map.entrySet()) {
            if (isBroken(entry.getKey())) {
                return "a key";
            }
            if (isBroken(entry.getValue())) {
                return String.valueOf(entry.getKey());
            }
        }
        return null;
    }

    private static boolean isBroken(@Nullable Object value) {
        return switch (value) {
            case String text -> !StandardCharsets.UTF_8.newEncoder().canEncode(text);
            case List<?> list -> list.stream().anyMatch(JsonLines::isBroken);
            case Map<?, ?> map -> halfSurrogate(map) != null;
            case null, default -> false;
        };
    }

    /// Bytes of one line without its end.
    private record Line(ByteArrayOutputStream content, boolean tooLong) {
        boolean isBlank() {
            return !tooLong && content.toString(StandardCharsets.ISO_8859_1).isBlank();
        }
    }

    private static @Nullable Line nextLine(InputStream in) throws IOException {
        int b = in.read();
        if (b < 0) {
            return null;
        }
        ByteArrayOutputStream content = new ByteArrayOutputStream();
        boolean tooLong = false;
        for (; b >= 0 && b != '\n'; b = in.read()) {
            if (content.size() < MAX_LINE_BYTES) {
                content.write(b);
            } else {
                tooLong = true;
            }
        }
        return new Line(content, tooLong);
    }
}
