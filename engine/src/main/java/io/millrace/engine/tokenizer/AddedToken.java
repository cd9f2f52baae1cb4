package io.millrace.engine.tokenizer;

/// One entry of `added_tokens`: text that is one token wherever it stands, before any BPE.
///
/// @param special     skipped by a decoding that skips special tokens
/// @param singleWord  matches only where no word character touches it
/// @param stripLeft   takes the white space before it along
/// @param stripRight  takes the white space after it along
/// @param normalized  is looked for after those that are not
record AddedToken(
        int id,
        String content,
        boolean special,
        boolean singleWord,
        boolean stripLeft,
        boolean stripRight,
        boolean normalized) {}
