package io.millrace.engine.checkpoint;

import io.millrace.engine.file.FileFault;
import io.millrace.engine.file.JsonFault;
import io.millrace.engine.file.RegularFile;
import java.io.IOException;
import java.nio.file.Path;
import tools.jackson.core.JacksonException;
import tools.jackson.core.StreamReadFeature;
import tools.jackson.core.TokenStreamLocation;
import tools.jackson.databind.DeserializationFeature;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/// A JSON file whose root is an object, read strictly: no doubled keys, nothing after the end, bounded
/// size and depth.
final class JsonFile {
    /// Largest file read. An index of 120,000 tensors has 12 MB.
    static final int MAX_BYTES = 64 << 20;

    private static final JsonMapper MAPPER = JsonMapper.builder()
            .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
            .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
            .build();

    private final Path file;
    private final byte[] bytes;
    private final JsonNode root;

    private JsonFile(Path file, byte[] bytes, JsonNode root) {
        this.file = file;
        this.bytes = bytes;
        this.root = root;
    }

    static JsonFile read(Path file) {
        byte[] bytes;
        try {
            bytes = RegularFile.read(file, MAX_BYTES + 1);
        } catch (IOException e) {
            throw InvalidCheckpoint.of(file, FileFault.found(e), "a readable file", e);
        }
        if (bytes.length > MAX_BYTES) {
            throw InvalidCheckpoint.of(file, "more than " + MAX_BYTES + " bytes", "at most " + MAX_BYTES);
        }
        return parse(file, bytes);
    }

    static JsonFile parse(Path file, byte[] bytes) {
        JsonNode root;
        try {
            root = MAPPER.readTree(bytes);
        } catch (JacksonException e) {
            throw InvalidCheckpoint.of(file, "invalid JSON: " + fault(e, bytes), "one JSON object", e);
        }
        if (root == null || !root.isObject()) {
            throw InvalidCheckpoint.of(file, "not a JSON object", "one JSON object");
        }
        return new JsonFile(file, bytes, root);
    }

    /// Where it was read.
    Path file() {
        return file;
    }

    /// Its content; not copied.
    byte[] bytes() {
        return bytes;
    }

    /// Its object.
    JsonNode root() {
        return root;
    }

    /// What is wrong, and where.
    private static String fault(JacksonException e, byte[] bytes) {
        TokenStreamLocation place = JsonFault.place(e, MAPPER.createParser(bytes));
        return JsonFault.found(e)
                + (place.getLineNr() < 1 ? "" : " at line " + place.getLineNr() + ", column " + place.getColumnNr());
    }
}
