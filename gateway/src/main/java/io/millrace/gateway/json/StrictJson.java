package io.millrace.gateway.json;

import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.engine.file.JsonFault;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;
import tools.jackson.core.ObjectReadContext;
import tools.jackson.core.StreamReadConstraints;
import tools.jackson.core.StreamReadFeature;
import tools.jackson.core.TokenStreamLocation;
import tools.jackson.core.json.JsonFactory;

/// Reads one JSON document as plain Java values: `Map` (in order), `List`, `String`, `Boolean`,
/// `BigInteger` for
/// numbers
/// written without fraction or exponent, `Double` for the others, null.
///
/// Refused as `invalid_json`: bytes that are no UTF-8, doubled keys, text after the document, `NaN` and
/// other words
/// that
/// are no JSON, half surrogate pairs, nesting deeper than 64, numbers of more than 400 characters or
/// beyond a double.
public final class StrictJson {
    private static final int MAX_DEPTH = 64;
    private static final int MAX_NUMBER_CHARACTERS = 400;
    private static final JsonFactory FACTORY = JsonFactory.builder()
            .streamReadConstraints(StreamReadConstraints.builder()
                    .maxNestingDepth(MAX_DEPTH)
                    .maxNumberLength(MAX_NUMBER_CHARACTERS)
                    .maxStringLength(Integer.MAX_VALUE)
                    .maxNameLength(4096)
                    .build())
            .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
            .build();

    private StrictJson() {}

    /// Reads a document whose top level must be an object.
    ///
    /// @throws MillraceException  `invalid_json` where it is no JSON, `invalid_request` where it is no
    ///                            object
    public static Map<String, @Nullable Object> readObject(byte[] utf8) {
        Object value = read(decode(utf8));
        if (!(value instanceof Map<?, ?> map)) {
            throw new MillraceException(
                    ErrorCode.INVALID_REQUEST, "request body: " + JsonFields.kindOf(value) + " (expected: an object)");
        }
        Map<String, @Nullable Object> object = new LinkedHashMap<>();
        map.forEach((key, item) -> object.put((String) key, item));
        return object;
    }

    private static String decode(byte[] utf8) {
        try {
            return StandardCharsets.UTF_8
                    .newDecoder()
                    .onMalformedInput(CodingErrorAction.REPORT)
                    .onUnmappableCharacter(CodingErrorAction.REPORT)
                    .decode(ByteBuffer.wrap(utf8))
                    .toString();
        } catch (CharacterCodingException e) {
            throw new MillraceException(ErrorCode.INVALID_JSON, "The request body is not valid UTF-8.", e);
        }
    }

    private static @Nullable Object read(String text) {
        try (JsonParser parser = parser(text)) {
            JsonToken token = parser.nextToken();
            if (token == null) {
                throw new MillraceException(ErrorCode.INVALID_JSON, "The request body is empty (expected: JSON).");
            }
            Object value = readValue(parser, token);
            if (parser.nextToken() != null) {
                throw invalid(parser, "text after the JSON document");
            }
            return value;
        } catch (JacksonException e) {
            String what = JsonFault.isBeyondLimits(e) ? "beyond a limit: " : "not valid JSON: ";
            throw invalid(what + JsonFault.found(e), JsonFault.place(e, parser(text)), e);
        }
    }

    private static JsonParser parser(String text) {
        return FACTORY.createParser(ObjectReadContext.empty(), text);
    }

    private static @Nullable Object readValue(JsonParser parser, JsonToken token) {
        return switch (token) {
            case START_OBJECT -> readObject(parser);
            case START_ARRAY -> readArray(parser);
            case VALUE_STRING -> whole(parser, parser.getString());
            case VALUE_NUMBER_INT -> new BigInteger(parser.getString());
            case VALUE_NUMBER_FLOAT -> readDouble(parser);
            case VALUE_TRUE -> true;
            case VALUE_FALSE -> false;
            case VALUE_NULL -> null;
            case END_OBJECT, END_ARRAY, PROPERTY_NAME, VALUE_EMBEDDED_OBJECT, NOT_AVAILABLE ->
                throw invalid(parser, "a value is missing");
        };
    }

    private static Map<String, @Nullable Object> readObject(JsonParser parser) {
        Map<String, @Nullable Object> object = new LinkedHashMap<>();
        for (String key = parser.nextName(); key != null; key = parser.nextName()) {
            whole(parser, key);
            object.put(key, readValue(parser, parser.nextToken()));
        }
        return Collections.unmodifiableMap(object);
    }

    private static List<@Nullable Object> readArray(JsonParser parser) {
        List<@Nullable Object> array = new ArrayList<>();
        for (JsonToken token = parser.nextToken(); token != JsonToken.END_ARRAY; token = parser.nextToken()) {
            array.add(readValue(parser, token));
        }
        return Collections.unmodifiableList(array);
    }

    private static Double readDouble(JsonParser parser) {
        double value = parser.getDoubleValue();
        if (Double.isInfinite(value)) {
            throw invalid(parser, "a number is too large");
        }
        return value;
    }

    private static String whole(JsonParser parser, String text) {
        int index = 0;
        while (index < text.length()) {
            int codePoint = text.codePointAt(index);
            if (codePoint >= Character.MIN_SURROGATE && codePoint <= Character.MAX_SURROGATE) {
                throw invalid(parser, "a string holds half of a surrogate pair");
            }
            index += Character.charCount(codePoint);
        }
        return text;
    }

    private static MillraceException invalid(JsonParser parser, String reason) {
        return invalid("not valid JSON: " + reason, parser.currentLocation(), null);
    }

    /// Says what is wrong without the text of the body: prompts do not belong into logs or answers.
    private static MillraceException invalid(String what, TokenStreamLocation place, @Nullable JacksonException cause) {
        return new MillraceException(
                ErrorCode.INVALID_JSON,
                "The request body is " + what + " (line " + place.getLineNr() + ", column " + place.getColumnNr()
                        + ").",
                cause);
    }
}
