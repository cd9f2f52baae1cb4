package io.millrace.rpc;

/// Takes sections of fetched blocks, in the order of the blocks asked for and of the sections within a
/// block.
@FunctionalInterface
public interface SectionSink {

    /// Takes one section, unless what it holds cannot be used.
    ///
    /// @param blockIndex  index into the blocks asked for
    /// @param section     index of the section
    /// @param data        checksummed bytes, given over to the sink
    /// @return false if it was not taken: the fetch then fails
    boolean tryAccept(int blockIndex, int section, byte[] data);
}
