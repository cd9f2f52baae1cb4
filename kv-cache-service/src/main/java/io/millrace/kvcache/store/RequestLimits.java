package io.millrace.kvcache.store;

/// Limits of single requests.
///
/// @param maxChainBlocks     ids in a match, pin or fetch
/// @param maxPutBlocks       blocks in a put
/// @param maxSections        sections of a block
/// @param maxSectionBytes    bytes of a section; a section travels in one message
/// @param maxNameCharacters  length of a lease id or holder
public record RequestLimits(
        int maxChainBlocks, int maxPutBlocks, int maxSections, int maxSectionBytes, int maxNameCharacters) {
    public RequestLimits {
        Limits.positive("maxChainBlocks", maxChainBlocks);
        Limits.positive("maxPutBlocks", maxPutBlocks);
        Limits.positive("maxSections", maxSections);
        Limits.positive("maxSectionBytes", maxSectionBytes);
        Limits.positive("maxNameCharacters", maxNameCharacters);
    }
}
