package io.millrace.decode;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.proto.v1.Finish;
import io.millrace.proto.v1.GenerateEvent;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;

/// A whole stream, read to its end; checks that positions have no gap and that the last event alone has
/// the finish.
record Reply(int firstPosition, List<Integer> ids, List<Float> logprobs, Finish finish) {

    static Reply read(Iterator<GenerateEvent> events) {
        List<Integer> ids = new ArrayList<>();
        List<Float> logprobs = new ArrayList<>();
        int first = -1;
        while (events.hasNext()) {
            GenerateEvent event = events.next();
            if (event.hasTokens()) {
                first = first < 0 ? event.getTokens().getFirstPosition() : first;
                assertThat(event.getTokens().getFirstPosition()).isEqualTo(first + ids.size());
                ids.addAll(event.getTokens().getIdsList());
                logprobs.addAll(event.getTokens().getLogprobsList());
            }
            if (event.hasFinish()) {
                assertThat(events.hasNext()).isFalse();
                return new Reply(first, ids, logprobs, event.getFinish());
            }
        }
        throw new AssertionError("a stream without a finish");
    }
}
