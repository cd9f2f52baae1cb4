package io.millrace.kvcache;

import com.google.protobuf.ByteString;
import com.google.protobuf.Duration;
import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.kvcache.store.BlockTerms;
import io.millrace.kvcache.store.LeaseTerms;
import io.millrace.kvcache.store.PutTerms;
import io.millrace.kvcache.store.StoreLimits;
import io.millrace.proto.v1.BlockHeader;
import io.millrace.proto.v1.PutHeader;
import java.util.List;
import java.util.concurrent.TimeUnit;

/// Reads fields of requests; what does not fit is INVALID_REQUEST and names the field.
final class RequestFields {
    static final int ID_BYTES = 32;
    static final int BLOCK_TOKENS = 64;

    private final StoreLimits limits;

    RequestFields(StoreLimits limits) {
        this.limits = limits;
    }

    /// @param duration  the default instance (zero) stands for the configured default
    LeaseTerms lease(String leaseId, String holder, Duration duration) {
        return new LeaseTerms(name("lease_id", leaseId), name("holder", holder), durationNanos(duration));
    }

    private long durationNanos(Duration duration) {
        if (duration.equals(Duration.getDefaultInstance())) {
            return TimeUnit.MILLISECONDS.toNanos(limits.lease().defaultMillis());
        }
        long maxMillis = limits.lease().maxMillis();
        boolean fits = duration.getSeconds() >= 0
                && duration.getSeconds() <= maxMillis / 1_000
                && duration.getNanos() >= 0
                && duration.getNanos() < 1_000_000_000;
        long nanos = fits ? TimeUnit.SECONDS.toNanos(duration.getSeconds()) + duration.getNanos() : 0;
        if (nanos <= 0 || nanos > TimeUnit.MILLISECONDS.toNanos(maxMillis)) {
            throw invalid(
                    "lease_duration",
                    duration.getSeconds() + " s " + duration.getNanos() + " ns (expected: above 0, at most " + maxMillis
                            + " ms)");
        }
        return nanos;
    }

    String name(String field, String value) {
        int max = limits.request().maxNameCharacters();
        if (value.isEmpty() || value.length() > max) {
            throw invalid(field, value.length() + " characters (expected: 1.." + max + ")");
        }
        return value;
    }

    static ByteString namespace(ByteString value) {
        return id("namespace", value);
    }

    static ByteString id(String field, ByteString value) {
        if (value.size() != ID_BYTES) {
            throw invalid(field, value.size() + " bytes (expected: " + ID_BYTES + ")");
        }
        return value;
    }

    /// Ids of a chain: full blocks only.
    List<ByteString> chain(List<ByteString> ids) {
        ids(ids);
        for (int i = 0; i < ids.size(); i++) {
            id("block_ids[" + i + "]", ids.get(i));
        }
        return ids;
    }

    /// Ids of full blocks and tails.
    List<ByteString> ids(List<ByteString> ids) {
        int max = limits.request().maxChainBlocks();
        if (ids.size() > max) {
            throw invalid("block_ids", ids.size() + " ids (expected: at most " + max + ")");
        }
        return ids;
    }

    static long sizeBytes(long value) {
        if (value < 0) {
            throw invalid("size_bytes", value + " (expected: 0 or more)");
        }
        return value;
    }

    PutTerms put(PutHeader header) {
        if (!header.getLeaseId().isEmpty()) {
            name("header.lease_id", header.getLeaseId());
            name("header.holder", header.getHolder());
        }
        id("header.namespace", header.getNamespace());
        int count = header.getSectionBytesCount();
        int maxSections = limits.request().maxSections();
        if (count < 1 || count > maxSections) {
            throw invalid("header.section_bytes", count + " sections (expected: 1.." + maxSections + ")");
        }
        int maxBytes = limits.request().maxSectionBytes();
        for (int i = 0; i < count; i++) {
            int bytes = header.getSectionBytes(i);
            if (bytes < 1 || bytes > maxBytes) {
                throw invalid("header.section_bytes[" + i + "]", bytes + " (expected: 1.." + maxBytes + ")");
            }
        }
        return new PutTerms(
                header.getLeaseId(), header.getHolder(), header.getNamespace(), header.getSectionBytesList());
    }

    BlockTerms block(BlockHeader block) {
        int tokens = block.getTokens();
        if (block.getTail()) {
            if (block.getId().isEmpty()
                    || block.getId().size() > 4L * limits.request().maxNameCharacters()) {
                throw invalid("block.id", block.getId().size() + " bytes (expected: lease_id/index)");
            }
            if (!block.getParentId().isEmpty()) {
                throw invalid("block.parent_id", "present (expected: none for a tail)");
            }
            if (tokens < 1 || tokens >= BLOCK_TOKENS) {
                throw invalid("block.tokens", tokens + " (expected: 1..63 for a tail)");
            }
        } else {
            id("block.id", block.getId());
            id("block.parent_id", block.getParentId());
            if (tokens != BLOCK_TOKENS) {
                throw invalid("block.tokens", tokens + " (expected: 64)");
            }
        }
        return new BlockTerms(block.getId(), block.getParentId(), block.getTail(), tokens);
    }

    static MillraceException invalid(String field, String problem) {
        return MillraceException.ofParam(ErrorCode.INVALID_REQUEST, field, field + ": " + problem);
    }
}
