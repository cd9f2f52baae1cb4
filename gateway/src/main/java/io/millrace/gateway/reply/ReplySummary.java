package io.millrace.gateway.reply;

import io.millrace.gateway.generation.ChoiceReceipt;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/// What a whole request used: its receipts by choice, added up.
///
/// @param prompts  token counts of the prompts, each answered by the same number of choices
/// @param receipts one for each choice, in order
public record ReplySummary(List<Integer> prompts, List<ChoiceReceipt> receipts, boolean mtpAsked) {
    public ReplySummary {
        prompts = List.copyOf(prompts);
        receipts = List.copyOf(receipts);
    }

    public int promptTokens() {
        return prompts.stream().mapToInt(Integer::intValue).sum();
    }

    public int completionTokens() {
        return receipts.stream().mapToInt(ChoiceReceipt::completionTokens).sum();
    }

    /// Cached tokens of each prompt's first choice: the others may find what that one stored, which
    /// saved the caller
    /// nothing.
    public int cachedTokens() {
        int perPrompt = receipts.size() / prompts.size();
        int cached = 0;
        for (int i = 0; i < receipts.size(); i += perPrompt) {
            cached += receipts.get(i).cachedTokens();
        }
        return cached;
    }

    /// OpenAI's `usage`.
    public Map<String, @Nullable Object> usage() {
        Map<String, @Nullable Object> usage = new LinkedHashMap<>();
        usage.put("prompt_tokens", promptTokens());
        usage.put("completion_tokens", completionTokens());
        usage.put("total_tokens", promptTokens() + completionTokens());
        usage.put("prompt_tokens_details", Map.of("cached_tokens", cachedTokens()));
        return usage;
    }

    /// The receipt: where the time of the slowest choice went, and which instances took part.
    public Map<String, @Nullable Object> timings() {
        ChoiceReceipt slowest = receipts.getFirst();
        for (ChoiceReceipt receipt : receipts) {
            slowest = receipt.millis().total() > slowest.millis().total() ? receipt : slowest;
        }
        ChoiceReceipt.Millis millis = slowest.millis();
        Map<String, @Nullable Object> timings = new LinkedHashMap<>();
        timings.put("queue_ms", rounded(millis.queue()));
        timings.put("prefill_ms", rounded(millis.prefill()));
        timings.put("transfer_ms", rounded(millis.transfer()));
        timings.put("decode_ms", rounded(millis.decode()));
        timings.put("ttft_ms", rounded(millis.firstToken()));
        timings.put("total_ms", rounded(millis.total()));
        timings.put("attempts", slowest.attempts());
        timings.put("enable_mtp", mtpAsked);
        timings.put("weight_version", slowest.services().weightVersion());
        timings.put("services", services());
        return timings;
    }

    private Map<String, @Nullable Object> services() {
        List<String> prefill = new ArrayList<>();
        List<String> decode = new ArrayList<>();
        boolean stored = false;
        for (ChoiceReceipt receipt : receipts) {
            addNew(prefill, receipt.services().prefill());
            addNew(decode, receipt.services().decode());
            stored |= receipt.services().blocksStored();
        }
        Map<String, @Nullable Object> services = new LinkedHashMap<>();
        services.put("prefill", prefill);
        services.put("kv_cache", stored);
        services.put("decode", decode);
        return services;
    }

    private static void addNew(List<String> names, @Nullable String name) {
        if (name != null && !names.contains(name)) {
            names.add(name);
        }
    }

    private static double rounded(double millis) {
        return Math.round(millis * 1000) / 1000.0;
    }
}
