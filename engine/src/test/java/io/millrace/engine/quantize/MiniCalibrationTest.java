package io.millrace.engine.quantize;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.engine.model.TestModels;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/// The embedded model's own calibration text is of its kind, and none of what it is judged by.
class MiniCalibrationTest {
    private static final Path MINI = TestModels.directory(TestModels.MINI);

    private static List<JsonNode> lines(Path file) throws IOException {
        return Files.readAllLines(file).stream()
                .map(line -> JsonMapper.shared().readTree(line))
                .toList();
    }

    /// What is asked, all that goes before the last answer.
    private static String question(JsonNode messages, int end) {
        return IntStream.range(0, end)
                .mapToObj(messages::get)
                .map(message -> message.get("role").asString() + ": "
                        + message.get("content").asString())
                .toList()
                .toString();
    }

    /// Tokens before the last run of those that count.
    private static List<Integer> prompt(TokenSequence sequence) {
        int end = sequence.length();
        while (!sequence.isCounted(end - 1)) {
            end--;
        }
        while (sequence.isCounted(end - 1)) {
            end--;
        }
        return IntStream.range(0, end).mapToObj(sequence::id).toList();
    }

    @Test
    void noTaskIsInIt() throws IOException {
        Set<String> tasks = new HashSet<>();
        for (JsonNode task : lines(MINI.resolve("eval/tasks.jsonl"))) {
            JsonNode messages = task.get("messages");
            tasks.add(question(messages, messages.size()));
        }
        List<JsonNode> own = lines(MINI.resolve(CalibrationText.FILE));
        assertThat(own).hasSize(48).allSatisfy(line -> {
            JsonNode messages = line.get("messages");
            for (int end = 1; end <= messages.size(); end++) {
                assertThat(tasks).doesNotContain(question(messages, end));
            }
        });
    }

    @Test
    void noHeldOutTextIsInIt() throws IOException {
        CalibrationText own = CalibrationText.read(MINI, 4096, null);
        assertThat(own.origin()).isEqualTo(CalibrationOrigin.MODEL);
        List<List<Integer>> texts = Stream.concat(own.calibration().stream(), own.evaluation().stream())
                .map(sequence -> IntStream.range(0, sequence.length())
                        .mapToObj(sequence::id)
                        .toList())
                .toList();
        assertThat(texts).hasSizeGreaterThanOrEqualTo(48);
        for (String set : List.of("chat", "long")) {
            for (TokenSequence heldOut : HeldOutText.read(set, 1)) {
                List<Integer> prompt = prompt(heldOut);
                assertThat(texts)
                        .noneMatch(text -> text.size() >= prompt.size()
                                && text.subList(0, prompt.size()).equals(prompt));
            }
        }
    }
}
