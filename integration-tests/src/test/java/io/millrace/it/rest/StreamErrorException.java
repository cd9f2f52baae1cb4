package io.millrace.it.rest;

import tools.jackson.databind.JsonNode;

/// A stream ended with an error.
public final class StreamErrorException extends RuntimeException {
    private static final long serialVersionUID = 1;

    private final String code;

    StreamErrorException(JsonNode error) {
        super(error.toString());
        this.code = error.required("code").asString();
    }

    public String code() {
        return code;
    }
}
