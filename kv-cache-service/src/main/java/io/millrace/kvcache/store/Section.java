package io.millrace.kvcache.store;

import com.google.protobuf.ByteString;

/// A layer's part of a block, with the checksum it arrived with.
public record Section(ByteString data, int crc32c) {}
