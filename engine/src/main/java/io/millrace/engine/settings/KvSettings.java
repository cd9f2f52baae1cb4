package io.millrace.engine.settings;

import io.millrace.kernels.KvFormat;
import io.millrace.kernels.PagedRows;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/// Keys `millrace.kv.*`: the pool of KV pages of one engine loop. Null in the constructor means the
/// default.
///
/// @param format      number format of cached rows; bfloat16 by default
/// @param poolTokens  tokens the pool holds, rounded up to whole pages; 32768 by default
public record KvSettings(
        @Nullable KvFormat format, @Nullable Integer poolTokens) {
    /// Tokens of a pool nobody sized.
    public static final int DEFAULT_POOL_TOKENS = 32_768;

    private static final int MAX_POOL_TOKENS = 1 << 30;

    public KvSettings {
        format = format == null ? KvFormat.BF16 : format;
        poolTokens = poolTokens == null ? Integer.valueOf(DEFAULT_POOL_TOKENS) : poolTokens;
        if (poolTokens < PagedRows.PAGE_TOKENS || poolTokens > MAX_POOL_TOKENS) {
            throw new IllegalArgumentException("millrace.kv.pool-tokens: " + poolTokens + " (expected: "
                    + PagedRows.PAGE_TOKENS + ".." + MAX_POOL_TOKENS + ")");
        }
    }

    public static KvSettings defaults() {
        return new KvSettings(null, null);
    }

    @Override
    public KvFormat format() {
        return Objects.requireNonNull(format);
    }

    @Override
    public Integer poolTokens() {
        return Objects.requireNonNull(poolTokens);
    }

    /// Pages of the pool.
    public int poolPages() {
        return Math.ceilDiv(poolTokens(), PagedRows.PAGE_TOKENS);
    }
}
