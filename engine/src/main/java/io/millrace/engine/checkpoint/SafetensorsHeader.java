package io.millrace.engine.checkpoint;

import io.millrace.engine.error.MillraceException;
import io.millrace.engine.file.JsonFault;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;
import tools.jackson.core.ObjectReadContext;
import tools.jackson.core.StreamReadFeature;
import tools.jackson.core.json.JsonFactory;

/// Parses the header of a safetensors file: u64-LE length, then that many bytes of JSON, `name → {dtype,
/// shape, data_offsets}` and optional text `__metadata__`. The data must be covered without gap or
/// overlap up to the end of the file. Nothing is allocated that the file's own size does not bound.
final class SafetensorsHeader {
    /// Largest header read. 120,000 tensors in one file need 20 MB.
    static final int MAX_HEADER_BYTES = 64 << 20;

    private static final long MAX_DATA_BYTES = 1L << 62;
    private static final int MAX_TENSORS = 1 << 19;
    private static final int MAX_RANK = 8;
    private static final int MAX_NAME = 512;
    private static final int PREFIX = Long.BYTES;
    private static final ValueLayout.OfLong LENGTH = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final JsonFactory JSON = JsonFactory.builder()
            .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
            .build();

    private final Path path;
    private final long dataOffset;
    private final long dataBytes;
    private final JsonParser parser;

    private SafetensorsHeader(Path path, long dataOffset, long dataBytes, JsonParser parser) {
        this.path = path;
        this.dataOffset = dataOffset;
        this.dataBytes = dataBytes;
        this.parser = parser;
    }

    static Map<String, TensorInfo> read(Path path, MemorySegment file) {
        long size = file.byteSize();
        if (size < PREFIX + 2) {
            throw InvalidCheckpoint.of(path, size + " bytes", "a safetensors header of at least " + (PREFIX + 2));
        }
        long length = file.get(LENGTH, 0);
        long most = Math.min(size - PREFIX, MAX_HEADER_BYTES);
        if (length > size - PREFIX && length <= MAX_HEADER_BYTES) {
            throw InvalidCheckpoint.of(
                    path,
                    size + " bytes, header length " + length,
                    "at least " + (PREFIX + length) + " bytes, as its beginning says: the file is cut off");
        }
        if (length < 2 || length > most) {
            throw InvalidCheckpoint.of(
                    path,
                    "header length " + Long.toUnsignedString(length),
                    "2.." + most + " in a file of " + size + " bytes");
        }
        byte[] json = file.asSlice(PREFIX, length).toArray(ValueLayout.JAVA_BYTE);
        if (json[0] != '{') {
            throw InvalidCheckpoint.of(path, "header starts with byte " + (json[0] & 0xff), "'{'");
        }
        try (JsonParser parser = JSON.createParser(ObjectReadContext.empty(), json)) {
            return new SafetensorsHeader(path, PREFIX + length, size - PREFIX - length, parser).tensors();
        } catch (JacksonException e) {
            long place = JsonFault.place(e, JSON.createParser(ObjectReadContext.empty(), json))
                    .getByteOffset();
            throw InvalidCheckpoint.of(
                    path,
                    "invalid JSON in the header: " + JsonFault.found(e)
                            + (place < 0 ? "" : " at byte " + (PREFIX + place)),
                    "one JSON object",
                    e);
        }
    }

    private Map<String, TensorInfo> tensors() {
        List<TensorInfo> found = new ArrayList<>();
        expect(parser.nextToken(), JsonToken.START_OBJECT, "the header");
        while (parser.nextToken() == JsonToken.PROPERTY_NAME) {
            String name = parser.currentName();
            if (name.equals("__metadata__")) {
                skipMetadata();
                continue;
            }
            if (name.isEmpty() || name.length() > MAX_NAME || found.size() == MAX_TENSORS) {
                throw InvalidCheckpoint.of(
                        path,
                        "tensor name of " + name.length() + " characters, number " + found.size(),
                        "1.." + MAX_NAME + " characters, at most " + MAX_TENSORS + " tensors");
            }
            found.add(tensor(name));
        }
        if (parser.nextToken() != null) {
            throw InvalidCheckpoint.of(path, "text after the header's object", "one JSON object");
        }
        return ordered(found);
    }

    private void skipMetadata() {
        expect(parser.nextToken(), JsonToken.START_OBJECT, "__metadata__");
        while (parser.nextToken() == JsonToken.PROPERTY_NAME) {
            expect(parser.nextToken(), JsonToken.VALUE_STRING, "__metadata__");
        }
    }

    private TensorInfo tensor(String name) {
        TensorType type = null;
        List<Long> shape = null;
        List<Long> range = null;
        expect(parser.nextToken(), JsonToken.START_OBJECT, named(name) + "its entry");
        while (parser.nextToken() == JsonToken.PROPERTY_NAME) {
            String key = parser.currentName();
            switch (key) {
                case "dtype" -> type = type(name);
                case "shape" -> shape = integers(name, "shape");
                case "data_offsets" -> range = integers(name, "data_offsets");
                default ->
                    throw bad(name, "key \"" + InvalidCheckpoint.quote(key) + "\"", "dtype, shape, data_offsets");
            }
        }
        if (type == null || shape == null || range == null) {
            throw bad(name, "a key is missing", "dtype, shape, data_offsets");
        }
        if (range.size() != 2 || range.get(0) > range.get(1) || range.get(1) > MAX_DATA_BYTES) {
            throw bad(name, "data_offsets " + range, "two ascending numbers up to " + MAX_DATA_BYTES);
        }
        long bytes = range.get(1) - range.get(0);
        if (bytes != sizeBytes(name, type, shape)) {
            throw bad(name, bytes + " bytes", sizeBytes(name, type, shape) + " for " + type + " " + shape);
        }
        return new TensorInfo(name, type, shape, dataOffset + range.get(0), bytes);
    }

    private TensorType type(String name) {
        expect(parser.nextToken(), JsonToken.VALUE_STRING, named(name) + "dtype");
        String text = parser.getString();
        TensorType type = TensorType.named(text);
        if (type == null) {
            throw bad(name, "dtype " + InvalidCheckpoint.quote(text), "BF16, F16, F32, F8_E4M3 or another known type");
        }
        return type;
    }

    private List<Long> integers(String name, String key) {
        List<Long> result = new ArrayList<>(4);
        expect(parser.nextToken(), JsonToken.START_ARRAY, named(name) + key);
        for (JsonToken token = parser.nextToken(); token != JsonToken.END_ARRAY; token = parser.nextToken()) {
            if (token != JsonToken.VALUE_NUMBER_INT
                    || parser.getNumberType() == JsonParser.NumberType.BIG_INTEGER
                    || parser.getLongValue() < 0) {
                throw bad(name, key + " holds " + shown(token), "whole numbers from 0 to 2^63-1");
            }
            if (result.size() == MAX_RANK) {
                throw bad(name, key + " of more than " + MAX_RANK + " numbers", "at most " + MAX_RANK);
            }
            result.add(parser.getLongValue());
        }
        return result;
    }

    private long sizeBytes(String name, TensorType type, List<Long> shape) {
        try {
            long bytes = type.elementBytes();
            for (long extent : shape) {
                bytes = Math.multiplyExact(bytes, extent);
            }
            return bytes;
        } catch (ArithmeticException e) {
            throw bad(name, "shape " + shape + " of more than 2^63 bytes", "at most " + dataBytes + " bytes");
        }
    }

    private Map<String, TensorInfo> ordered(List<TensorInfo> found) {
        found.sort(Comparator.comparingLong(TensorInfo::offset).thenComparingLong(TensorInfo::sizeBytes));
        Map<String, TensorInfo> result = LinkedHashMap.newLinkedHashMap(found.size());
        long end = dataOffset;
        for (TensorInfo info : found) {
            if (info.offset() != end) {
                String what = info.offset() < end ? "overlaps the tensor before it" : "leaves a gap before it";
                throw bad(info.name(), what + " at " + (info.offset() - dataOffset), "data from " + (end - dataOffset));
            }
            end += info.sizeBytes();
            result.put(info.name(), info);
        }
        if (end != dataOffset + dataBytes) {
            String why = end > dataOffset + dataBytes ? "the file is cut off" : "something follows its data";
            throw InvalidCheckpoint.of(
                    path,
                    (dataOffset + dataBytes) + " bytes, " + dataBytes + " bytes of data",
                    end + " bytes, as its header says: " + why);
        }
        return Collections.unmodifiableMap(result);
    }

    private void expect(@Nullable JsonToken found, JsonToken expected, String what) {
        if (found != expected) {
            throw InvalidCheckpoint.of(path, what + ": " + shown(found), kind(expected));
        }
    }

    /// What stands there: a number or word itself, of all else the kind.
    private String shown(@Nullable JsonToken found) {
        if (found == null) {
            return "nothing";
        }
        return found.isNumeric() ? "the number " + InvalidCheckpoint.quote(parser.getString()) : kind(found);
    }

    private static String kind(JsonToken token) {
        return switch (token) {
            case START_OBJECT -> "an object";
            case START_ARRAY -> "a list";
            case VALUE_STRING, PROPERTY_NAME -> "a text";
            case VALUE_NUMBER_INT, VALUE_NUMBER_FLOAT -> "a number";
            case VALUE_TRUE -> "true";
            case VALUE_FALSE -> "false";
            case VALUE_NULL -> "null";
            case END_OBJECT, END_ARRAY, VALUE_EMBEDDED_OBJECT, NOT_AVAILABLE -> "nothing";
        };
    }

    private static String named(String tensor) {
        return "tensor " + InvalidCheckpoint.quote(tensor) + ": ";
    }

    private MillraceException bad(String tensor, String found, String expected) {
        return InvalidCheckpoint.of(path, named(tensor) + found, expected);
    }
}
