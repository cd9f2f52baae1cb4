package io.millrace.standalone.command;

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
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/// Asks a suite that has just started a few questions, so that the first real one meets compiled code: a
/// short chat, then, as long as there is time, longer texts.
///
/// Nobody's count of cached tokens changes by it: the chat is too short to leave a block in the prefix
/// cache, and the longer texts begin with a number drawn anew each time, so that they are nobody's prefix.
///
/// What does not fit into the pool is not asked for, and a question that is refused is one less: the suite serves
/// all the same.
final class WarmUp {
    private static final Logger log = LoggerFactory.getLogger(WarmUp.class);

    /// Tokens of a block; what is shorter is not cached.
    private static final int BLOCK = 64;

    private static final int CHAT_ANSWER = 16;
    private static final int TEXT_ANSWER = 32;
    private static final String TEXT = " int a = 1;";
    private static final int TEXT_REPEATS = 18;
    /// Of the largest number, in base 36.
    private static final int NUMBER_CHARACTERS = 13;
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
        int contextTokens = client.contextTokens();
        ask(receipts, () -> chat(contextTokens, receipts));
        if (receipts.isEmpty()) {
            ask(receipts, () -> complete("1", CHAT_ANSWER, receipts));
        }
        // A token is a character at least.
        int repeats = Math.min(TEXT_REPEATS, (contextTokens - 1 - TEXT_ANSWER - NUMBER_CHARACTERS) / TEXT.length());
        boolean answered = repeats > 0;
        for (int i = 0; i < MAX_TEXTS && answered && fits(TEXT_ANSWER); i++) {
            String number = Long.toUnsignedString(numbers.nextLong(), Character.MAX_RADIX);
            answered = ask(receipts, () -> complete(number + TEXT.repeat(repeats), TEXT_ANSWER, receipts));
        }
        return receipts;
    }

    private interface Question {
        void ask() throws IOException;
    }

    /// Whether there was an answer.
    private static boolean ask(List<Receipt> receipts, Question question) throws IOException {
        int before = receipts.size();
        try {
            question.ask();
        } catch (MillraceException e) {
            log.debug("a question of the warm-up was refused: {}", e.getMessage());
        }
        return receipts.size() > before;
    }

    private void complete(String prompt, int maxTokens, List<Receipt> receipts) throws IOException {
        Map<String, @Nullable Object> body = greedy(maxTokens);
        body.put("prompt", prompt);
        receipts.add(heard(client.complete(body, ReplyListener.NONE)));
    }

    /// A model may have no chat template, or one that begins with many words of its own.
    private void chat(int contextTokens, List<Receipt> receipts) throws IOException {
        Map<String, @Nullable Object> body = greedy(CHAT_ANSWER);
        List<Map<String, String>> messages = List.of(Map.of("role", "user", "content", "Hi"));
        body.put("messages", messages);
        int promptTokens = client.post("/tokenize", Map.of("messages", messages))
                .path("count")
                .asInt(BLOCK);
        if (promptTokens + CHAT_ANSWER < Math.min(BLOCK, contextTokens)) {
            receipts.add(heard(client.chat(body, ReplyListener.NONE)));
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
