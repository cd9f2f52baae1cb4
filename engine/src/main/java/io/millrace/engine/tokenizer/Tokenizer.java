package io.millrace.engine.tokenizer;

import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.engine.text.MarkedText;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;

/// A checkpoint's byte-level BPE tokenizer, read from its `tokenizer.json`. Thread-safe.
///
/// **Added tokens** (`<|user|>`, `<think>`, …) are matched here and not in the library below, since only
/// text that the template wrote itself may become a control id. A match needs every character trusted
/// ([MarkedText.Span#fromCaller] false). What lies between two matches is one stretch for BPE, whoever
/// wrote its parts, so that merges run across the borders of a caller's text just as they did in
/// training. The library gets the tokenizer without added tokens.
///
/// **Decoding** is our own: the library decodes whole lists only.
public final class Tokenizer implements AutoCloseable {
    private final Vocabulary vocabulary;
    private final AddedTokenMatcher matcher;
    private final Map<String, Integer> addedIds;
    private final LeastTokens leastTokens;
    private final TextCuts cuts;
    private final BytePairEncoder encoder;

    private Tokenizer(TokenizerFile file, BytePairEncoder encoder) {
        this.vocabulary = file.vocabulary();
        this.matcher = new AddedTokenMatcher(file.addedTokens());
        this.addedIds = new HashMap<>();
        file.addedTokens().forEach(token -> addedIds.put(token.content(), token.id()));
        this.leastTokens = new LeastTokens(file.vocabulary(), file.addedTokens(), file.spelling());
        this.cuts = file.cuts();
        this.encoder = encoder;
    }

    /// Reads a tokenizer; takes up to a second the first time in a JVM.
    ///
    /// @param dirOrFile  a `tokenizer.json` or a folder that holds one; other files are not needed
    /// @throws MillraceException `INVALID_CHECKPOINT` naming the file, the key, what is there and what is
    ///   expected
    public static Tokenizer load(Path dirOrFile) {
        TokenizerFile file = TokenizerFile.read(dirOrFile);
        return new Tokenizer(file, BytePairEncoder.of(file.modelJson(), file.file()));
    }

    /// Ids of a text whose added tokens are recognised where the template wrote them. No token is added
    /// at either end.
    ///
    /// @throws MillraceException `INVALID_REQUEST` if the text holds half a surrogate pair, `QUEUE_FULL` if there
    ///   is no memory for the ids now, `CANCELLED` if the thread is interrupted before the end of a long text
    public int[] encode(MarkedText marked) {
        String text = marked.text();
        checkSurrogates(text);
        List<AddedTokenMatcher.Match> matches = matcher.find(marked, text);
        TokenIds ids = new TokenIds();
        int from = 0;
        for (AddedTokenMatcher.Match match : matches) {
            encodeStretch(text, from, match.start(), ids);
            ids.add(match.id());
            from = match.end();
        }
        encodeStretch(text, from, text.length(), ids);
        return ids.toArray();
    }

    /// Ids of a text that is trusted throughout: every added token in it is recognised.
    public int[] encode(String text) {
        return encode(MarkedText.trusted(text));
    }

    /// A lower bound of the number of a text's tokens, whoever wrote its parts; takes a millisecond per megabyte,
    /// where [#encode] may take seconds. 0 where nothing is certain.
    public int leastTokens(String text) {
        return leastTokens.of(text);
    }

    /// Text of ids; U+FFFD for each beyond the vocabulary, which only a model with a larger embedding
    /// yields.
    ///
    /// @param skipSpecial  leave out tokens marked `special`
    /// @throws MillraceException `INVALID_REQUEST` if an id is negative
    public String decode(int[] ids, boolean skipSpecial) {
        Detokenizer detokenizer = detokenizer(skipSpecial);
        for (int id : ids) {
            detokenizer.append(id);
        }
        return detokenizer.flush();
    }

    /// A new incremental decoder, for one sequence.
    public Detokenizer detokenizer(boolean skipSpecial) {
        return new Detokenizer(vocabulary, skipSpecial);
    }

    /// One more than the largest id, added tokens included. A model's embedding may have more rows than
    /// this.
    public int vocabSize() {
        return vocabulary.size();
    }

    /// Id of an added token by its exact text.
    public OptionalInt idOf(String addedToken) {
        Integer id = addedIds.get(addedToken);
        return id == null ? OptionalInt.empty() : OptionalInt.of(id);
    }

    /// Text of an added token; empty for all other ids.
    public Optional<String> addedToken(int id) {
        vocabulary.checkId(id);
        return vocabulary.isAdded(id) ? Optional.of(vocabulary.token(id)) : Optional.empty();
    }

    /// Whether the token is marked `special`: a decoding may leave it out.
    public boolean isSpecial(int id) {
        vocabulary.checkId(id);
        return vocabulary.isSpecial(id);
    }

    /// The token as the vocabulary spells it, e.g. `Ġthe` for " the"; empty for an id that has no token.
    public String token(int id) {
        return vocabulary.token(id);
    }

    /// The bytes the token stands for: not always whole characters. Those of U+FFFD beyond the vocabulary.
    public byte[] bytes(int id) {
        vocabulary.checkDecodable(id);
        return vocabulary.bytes(id).clone();
    }

    @Override
    public void close() {
        encoder.close();
    }

    private void encodeStretch(String text, int from, int to, TokenIds out) {
        int end;
        for (int start = from; start < to; start = end) {
            end = cuts.next(text, start, to);
            encoder.encode(text.substring(start, end), out);
            if (end < to && Thread.currentThread().isInterrupted()) {
                throw new MillraceException(ErrorCode.CANCELLED, "A text was no longer to be tokenized.");
            }
        }
    }

    private static void checkSurrogates(String text) {
        OptionalInt half = halfCharacter(text);
        if (half.isPresent()) {
            int i = half.getAsInt();
            throw new MillraceException(
                    ErrorCode.INVALID_REQUEST,
                    "text: half a surrogate pair, U+%04X, at character %d (expected: whole characters)"
                            .formatted((int) text.charAt(i), i));
        }
    }

    /// Where a text holds half a surrogate pair, if it does: such a text has no ids.
    public static OptionalInt halfCharacter(String text) {
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (!Character.isSurrogate(c)) {
                continue;
            }
            if (Character.isHighSurrogate(c) && i + 1 < text.length() && Character.isLowSurrogate(text.charAt(i + 1))) {
                i++;
                continue;
            }
            return OptionalInt.of(i);
        }
        return OptionalInt.empty();
    }
}
