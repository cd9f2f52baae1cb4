package io.millrace.gateway.fake;

import com.google.protobuf.ByteString;
import com.google.protobuf.Duration;
import io.millrace.proto.v1.DescribeResponse;

/// Descriptions of fake instances.
final class Instance {
    static final int CONTEXT_TOKENS = 2048;
    static final int POOL_TOKENS = 1024;

    private Instance() {}

    static Duration millis(int millis) {
        return Duration.newBuilder().setNanos(millis * 1_000_000).build();
    }

    static DescribeResponse describe(String name, int weights) {
        byte[] digest = new byte[32];
        digest[0] = (byte) weights;
        return DescribeResponse.newBuilder()
                .setInstance(name)
                .setModel("millrace-mini")
                .setWeightVersion(7)
                .setWeightsDigest(ByteString.copyFrom(digest))
                .setAdapterDigest(ByteString.copyFrom(new byte[32]))
                .setNumericsId("test")
                .setLayoutId("test")
                .setMaxContextTokens(CONTEXT_TOKENS)
                .setKvPoolTokens(POOL_TOKENS)
                .build();
    }
}
