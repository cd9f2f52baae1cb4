package io.millrace.standalone.command;

import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.standalone.client.MillraceClient;
import io.millrace.standalone.client.Receipt;
import io.millrace.standalone.client.Reply;
import io.millrace.standalone.client.ReplyListener;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;

/// Asks a suite that has just started a few questions, so that the first real one meets compiled code: a
/// short chat, then, as long as there is time, longer texts.
///
/// Nobody's count of cached tokens changes by it: the chat is too short to leave a block in the prefix
/// cache, and the longer texts begin with a number drawn anew each time, so that they are nobody's prefix.
final class WarmUp {
    /// Tokens of a block; what is shorter is not cached.
    private static final int BLOCK = 64;

    private static final int CHAT_ANSWER = 16;
    private static final int TEXT_ANSWER = 32;
    private static final int TEXT_REPEATS = 18;
    private static final int MAX_TEXTS = 16;
    private static final double NANOS_PER_SECOND = 1e9;

    private final MillraceClient client;
    private final SplittableRandom numbers;
    private final long deadlineNanos;
    private double tokensPerSecond;

    /// @param budget  a text whose continuation is not expected to end within it is not asked for
    WarmUp(MillraceClient client, Duration budget, SplittableRandom numbers) {
        this.client = client;
        this.numbers = numbers;
        this.deadlineNanos = System.nanoTime() + budget.toNanos();
    }

    /// @return the receipt of each answer
    List<Receipt> run() throws IOException {
        List<Receipt> receipts = new ArrayList<>();
        chat(receipts);
        if (receipts.isEmpty()) {
            Map<String, @Nullable Object> body = greedy(CHAT_ANSWER);
            body.put("prompt", "1");
            receipts.add(heard(client.complete(body, ReplyListener.NONE)));
        }
        for (int i = 0; i < MAX_TEXTS && fits(TEXT_ANSWER); i++) {
            Map<String, @Nullable Object> body = greedy(TEXT_ANSWER);
            String number = Long.toUnsignedString(numbers.nextLong(), Character.MAX_RADIX);
            body.put("prompt", number + " int a = 1;".repeat(TEXT_REPEATS));
            receipts.add(heard(client.complete(body, ReplyListener.NONE)));
        }
        return receipts;
    }

    /// A model may have no chat template, or one that begins with many words of its own.
    private void chat(List<Receipt> receipts) throws IOException {
        Map<String, @Nullable Object> body = greedy(CHAT_ANSWER);
        List<Map<String, String>> messages = List.of(Map.of("role", "user", "content", "Hi"));
        body.put("messages", messages);
        try {
            int promptTokens = client.post("/tokenize", Map.of("messages", messages))
                    .path("count")
                    .asInt(BLOCK);
            if (promptTokens + CHAT_ANSWER < BLOCK) {
                receipts.add(heard(client.chat(body, ReplyListener.NONE)));
            }
        } catch (MillraceException e) {
            if (e.code() != ErrorCode.NO_CHAT_TEMPLATE && e.code() != ErrorCode.CHAT_TEMPLATE_FAILED) {
                throw e;
            }
        }
    }

    private static Map<String, @Nullable Object> greedy(int maxTokens) {
        Map<String, @Nullable Object> body = new LinkedHashMap<>();
        body.put("max_tokens", maxTokens);
        body.put("temperature", 0);
        return body;
    }

    private Receipt heard(Reply reply) {
        Receipt receipt = reply.receipt();
        if (receipt.tokensPerSecond() > 0) {
            tokensPerSecond = receipt.tokensPerSecond();
        }
        return receipt;
    }

    private boolean fits(int tokens) {
        double leftSeconds = (deadlineNanos - System.nanoTime()) / NANOS_PER_SECOND;
        return tokensPerSecond > 0 && tokens / tokensPerSecond < leftSeconds;
    }
}
