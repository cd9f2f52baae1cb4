package io.millrace.gateway.generation;

import io.millrace.engine.chat.ReplyDelta;
import io.millrace.engine.chat.ReplyDelta.ContentDelta;
import io.millrace.engine.chat.ReplyDelta.ToolCallEnd;
import io.millrace.engine.chat.ReplyDelta.ToolCallStart;
import io.millrace.engine.tokenizer.Detokenizer;
import io.millrace.engine.tokenizer.Tokenizer;
import io.millrace.gateway.generation.ReplyEvent.Alternative;
import io.millrace.gateway.generation.ReplyEvent.Delta;
import io.millrace.gateway.generation.ReplyEvent.Ending;
import io.millrace.gateway.generation.ReplyEvent.LoggedToken;
import io.millrace.gateway.generation.ReplyEvent.Part;
import io.millrace.gateway.generation.ReplyEvent.Reason;
import io.millrace.proto.v1.Finish;
import io.millrace.proto.v1.FinishReason;
import io.millrace.proto.v1.TokenLogprob;
import io.millrace.proto.v1.Tokens;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/// Turns the tokens of one choice into reply events: text, cut where a stop string says so, split by
/// the reply parser.
///
/// Special tokens show no text, and a token that stopped the answer neither, unless the request keeps
/// it. The last
/// tokens come together with the finish, so nothing that will be cut is ever shown.
///
/// A token is reported with the delta its text went into. One whose text is held back (half a character,
/// a part of a tool call, layout), or that has none, waits for the next delta.
final class ReplyAssembler {
    private final ChoiceTask task;
    private final Detokenizer detokenizer;
    private final TokenTexts texts;
    private final List<LoggedToken> waiting = new ArrayList<>();
    private int openCalls;
    private int completeCalls;

    ReplyAssembler(ChoiceTask task, Tokenizer tokenizer) {
        this.task = task;
        this.detokenizer = tokenizer.detokenizer(true);
        this.texts = new TokenTexts(tokenizer);
    }

    /// Takes new tokens.
    ///
    /// @param known   leading tokens of the event to leave out
    /// @param finish  set when these are the last ones
    /// @return what there is to show, if anything
    Optional<Delta> accept(Tokens tokens, int known, @Nullable Finish finish) {
        int end = tokens.getIdsCount();
        boolean stopIdHidden = finish != null
                && finish.getMatchedStopCase() == Finish.MatchedStopCase.STOP_ID
                && !task.stop().keptInText()
                && end > known
                && tokens.getIds(end - 1) == finish.getStopId();
        int shownEnd = stopIdHidden ? end - 1 : end;
        List<Piece> pieces = new ArrayList<>();
        for (int i = known; i < shownEnd; i++) {
            int id = tokens.getIds(i);
            pieces.add(new Piece(i, id, detokenizer.accept(id)));
        }
        if (finish != null) {
            pieces.add(new Piece(Piece.NO_TOKEN, 0, detokenizer.flush()));
            cut(pieces, charactersToCut(finish));
        }
        List<Part> parts = new ArrayList<>();
        for (Piece piece : pieces) {
            if (piece.index != Piece.NO_TOKEN && tokens.getLogprobsCount() > piece.index) {
                waiting.add(logged(tokens, piece.index));
            }
            show(split(piece), parts);
        }
        if (finish != null) {
            task.parser().ifPresent(parser -> show(parser.finish(), parts));
            showWaiting(parts);
        }
        return parts.isEmpty() ? Optional.empty() : Optional.of(new Delta(task.index(), parts));
    }

    private void show(List<ReplyDelta> deltas, List<Part> parts) {
        if (!deltas.isEmpty()) {
            count(deltas);
            parts.add(new Part(waiting, deltas));
            waiting.clear();
        }
    }

    private void showWaiting(List<Part> parts) {
        if (!waiting.isEmpty()) {
            parts.add(new Part(waiting, List.of()));
            waiting.clear();
        }
    }

    /// A tool call that was cut off by the length ends with `length`, never with `tool_calls`.
    Ending ending(Finish finish) {
        boolean stopped = finish.getReason() == FinishReason.FINISH_REASON_STOP;
        boolean callsTools = completeCalls > 0 && completeCalls == openCalls;
        Reason reason = !stopped ? Reason.LENGTH : callsTools ? Reason.TOOL_CALLS : Reason.STOP;
        return switch (finish.getMatchedStopCase()) {
            case STOP_STRING -> new Ending(reason, finish.getStopString(), null);
            case STOP_ID ->
                new Ending(reason, null, task.stop().ids().contains(finish.getStopId()) ? finish.getStopId() : null);
            case MATCHEDSTOP_NOT_SET -> new Ending(reason, null, null);
        };
    }

    private int charactersToCut(Finish finish) {
        int cut = finish.getCutCharacters();
        if (task.stop().keptInText() && finish.hasStopString()) {
            String stop = finish.getStopString();
            cut -= stop.codePointCount(0, stop.length());
        }
        return Math.max(0, cut);
    }

    /// Cuts code points from the end; tokens whose whole text goes, go with it.
    private static void cut(List<Piece> pieces, int codePoints) {
        int left = codePoints;
        while (left > 0 && !pieces.isEmpty()) {
            Piece last = pieces.removeLast();
            int length = last.text.codePointCount(0, last.text.length());
            if (length > left) {
                int kept = last.text.offsetByCodePoints(0, length - left);
                pieces.add(new Piece(last.index, last.id, last.text.substring(0, kept)));
                return;
            }
            left -= length;
        }
    }

    private List<ReplyDelta> split(Piece piece) {
        if (task.parser().isEmpty()) {
            return piece.text.isEmpty() ? List.of() : List.of(new ContentDelta(piece.text));
        }
        return piece.index == Piece.NO_TOKEN
                ? task.parser().get().acceptText(piece.text)
                : task.parser().get().accept(piece.id, piece.text);
    }

    private void count(List<ReplyDelta> deltas) {
        for (ReplyDelta delta : deltas) {
            if (delta instanceof ToolCallStart) {
                openCalls++;
            } else if (delta instanceof ToolCallEnd) {
                completeCalls++;
            }
        }
    }

    private LoggedToken logged(Tokens tokens, int index) {
        List<Alternative> top = new ArrayList<>();
        if (tokens.getTopLogprobsCount() > index) {
            for (TokenLogprob entry : tokens.getTopLogprobs(index).getEntriesList()) {
                top.add(new Alternative(texts.of(entry.getId()), entry.getLogprob()));
            }
        }
        return new LoggedToken(texts.of(tokens.getIds(index)), tokens.getLogprobs(index), top);
    }

    /// Text of one token.
    private record Piece(int index, int id, String text) {
        /// What the detokenizer still held at the end.
        static final int NO_TOKEN = -1;
    }
}
