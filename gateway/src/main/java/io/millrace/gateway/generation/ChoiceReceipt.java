package io.millrace.gateway.generation;

import org.jspecify.annotations.Nullable;

/// What a choice cost and who worked on it.
///
/// @param cachedTokens  prompt tokens taken from the shared cache, as prefill counted them
/// @param attempts      decode calls made: more than one after a fault
public record ChoiceReceipt(int completionTokens, int cachedTokens, Millis millis, Services services, int attempts) {

    /// Where the time went; the first four as the services measured them, the last two seen from the
    /// gateway.
    public record Millis(
            double queue, double prefill, double transfer, double decode, double firstToken, double total) {}

    /// Names of the instances.
    ///
    /// @param prefill       null: decode computed the prompt itself
    /// @param blocksStored  the KV blocks went through kv-cache-service
    public record Services(@Nullable String prefill, boolean blocksStored, String decode, long weightVersion) {}
}
