package io.millrace.engine.tokenizer;

/// Text of a growing list of ids: gives out each character once its last byte is known, so that the
/// pieces joined equal the decoding of all ids at once. Belongs to one sequence; not thread-safe. It
/// needs only the vocabulary, so it outlives a closed [Tokenizer].
public final class Detokenizer {
    private final Vocabulary vocabulary;
    private final boolean skipSpecial;
    private final Utf8Assembler assembler = new Utf8Assembler();

    Detokenizer(Vocabulary vocabulary, boolean skipSpecial) {
        this.vocabulary = vocabulary;
        this.skipSpecial = skipSpecial;
    }

    /// The text that became complete with this id; often empty, as a character may need several tokens.
    /// An id beyond the vocabulary gives U+FFFD.
    ///
    /// @throws io.millrace.engine.error.MillraceException if the id is negative
    public String accept(int id) {
        append(id);
        return assembler.take();
    }

    /// What is left at the end: U+FFFD if the last character never became complete, else nothing. The
    /// object may be used for another list afterwards.
    public String flush() {
        return assembler.flush();
    }

    /// Whether bytes of an unfinished character are held back.
    public boolean isMidCharacter() {
        return assembler.isMidCharacter();
    }

    void append(int id) {
        vocabulary.checkDecodable(id);
        if (!skipSpecial || !vocabulary.isSpecial(id)) {
            assembler.append(vocabulary.bytes(id));
        }
    }
}
