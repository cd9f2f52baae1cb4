package io.millrace.engine.tokenizer;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import tools.jackson.databind.JsonNode;

/// The steps a `tokenizer.json` takes before BPE: what its normalizer and its pre-tokenizer are made of.
final class TokenizerSteps {
    /// Normalizers that change how a character is written and nothing else.
    static final Set<String> SPELLING_KEEPERS = Set.of("NFC", "NFD");

    private TokenizerSteps() {}

    /// A step alone, or those of a sequence; none if there is no step.
    ///
    /// @param listName  key of a sequence's list
    static List<JsonNode> of(JsonNode step, String listName) {
        if (step.isNull() || step.isMissingNode()) {
            return List.of();
        }
        List<JsonNode> steps = new ArrayList<>();
        if (type(step).equals("Sequence")) {
            step.path(listName).forEach(steps::add);
        } else {
            steps.add(step);
        }
        return steps;
    }

    /// What all steps together do to a text's bytes.
    static LeastTokens.Spelling spelling(JsonNode root) {
        JsonNode model = root.path("model");
        boolean affixed = !model.path("continuing_subword_prefix").asString("").isEmpty()
                || !model.path("end_of_word_suffix").asString("").isEmpty();
        if (affixed || !splitsOnly(of(root.path("pre_tokenizer"), "pretokenizers"))) {
            return LeastTokens.Spelling.UNKNOWN;
        }
        LeastTokens.Spelling spelling = LeastTokens.Spelling.KEPT;
        for (JsonNode step : of(root.path("normalizer"), "normalizers")) {
            if (!SPELLING_KEEPERS.contains(type(step))) {
                return LeastTokens.Spelling.UNKNOWN;
            }
            spelling = LeastTokens.Spelling.COMPOSED;
        }
        return spelling;
    }

    /// Whether the steps split text, drop nothing of it, and write it in the byte alphabet at last.
    private static boolean splitsOnly(List<JsonNode> steps) {
        for (int i = 0; i < steps.size() - 1; i++) {
            if (!splitsOnly(steps.get(i))) {
                return false;
            }
        }
        return !steps.isEmpty() && type(steps.getLast()).equals("ByteLevel");
    }

    private static boolean splitsOnly(JsonNode step) {
        return type(step).equals("Digits")
                || (type(step).equals("Split")
                        && !step.path("behavior").asString("Removed").equals("Removed"));
    }

    private static String type(JsonNode step) {
        return step.path("type").asString("");
    }
}
