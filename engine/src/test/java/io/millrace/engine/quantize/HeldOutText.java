package io.millrace.engine.quantize;

import io.millrace.engine.model.TestModels;
import java.io.IOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/// The embedded model's held-out text.
final class HeldOutText {
    private HeldOutText() {}

    /// @param set    `chat` or `long`
    /// @param every  takes each line of that number
    static List<TokenSequence> read(String set, int every) throws IOException {
        List<TokenSequence> sequences = new ArrayList<>();
        int number = 0;
        for (String line : Files.readAllLines(
                TestModels.directory(TestModels.MINI).resolve("eval").resolve("heldout.jsonl"))) {
            JsonNode node = JsonMapper.shared().readTree(line);
            if (!node.get("set").asString().equals(set) || number++ % every != 0) {
                continue;
            }
            int[] ids = new int[node.get("ids").size()];
            boolean[] counted = new boolean[ids.length];
            for (int i = 0; i < ids.length; i++) {
                ids[i] = node.get("ids").get(i).asInt();
                counted[i] = node.get("mask").get(i).asInt() != 0;
            }
            sequences.add(new TokenSequence(ids, counted));
        }
        return sequences;
    }
}
