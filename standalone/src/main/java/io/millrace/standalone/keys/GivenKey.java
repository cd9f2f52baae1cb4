package io.millrace.standalone.keys;

/// A value that somebody gave a key.
///
/// @param source  what it is called where it was given: `--isa`, `--millrace.kernels.isa`,
///                `-Dmillrace.kernels.isa` or `MILLRACE_KERNELS_ISA`
public record GivenKey(String value, String source) {}
