package io.millrace.engine.evaluation;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.engine.chat.ChatInput;
import io.millrace.engine.chat.ChatMessages;
import io.millrace.engine.chat.ChatReply;
import io.millrace.engine.chat.ChatTemplate;
import io.millrace.engine.chat.ReplyParser;
import io.millrace.engine.chat.ReplyTokens;
import io.millrace.engine.error.MillraceException;
import io.millrace.engine.model.LoadProgress;
import io.millrace.engine.model.LoadedModel;
import io.millrace.engine.sampling.Sampled;
import io.millrace.engine.sampling.SamplingParams;
import io.millrace.engine.schedule.EngineLoop;
import io.millrace.engine.schedule.EngineRole;
import io.millrace.engine.schedule.FinishInfo;
import io.millrace.engine.schedule.Handover;
import io.millrace.engine.schedule.LoopSettings;
import io.millrace.engine.schedule.SequenceListener;
import io.millrace.engine.schedule.SequenceRequest;
import io.millrace.engine.settings.DsaSettings;
import io.millrace.engine.settings.EngineSettings;
import io.millrace.engine.settings.KernelSettings;
import io.millrace.engine.settings.KvSettings;
import io.millrace.engine.settings.WeightsSettings;
import io.millrace.engine.tokenizer.Detokenizer;
import io.millrace.engine.tokenizer.Tokenizer;
import io.millrace.kernels.KvFormat;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import tools.jackson.core.type.TypeReference;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/// The trained model on its tasks, greedy: as many right answers as the reference run gave. Everything
/// between messages and reply takes part: template, tokenizer, engine loop, reply parser.
class TaskAccuracyTest {
    private static final Path MINI = Path.of(System.getProperty("millrace.root"), "models", "mini");
    private static final JsonMapper JSON = new JsonMapper();
    private static final int MAX_TOKENS = 320;
    private static final int SAMPLE = 200;
    private static final int SEQUENCES = 16;
    /// Greedy near-ties: arithmetic in another order may turn this many answers of a task.
    private static final int NEAR_TIES = 2;

    /// Right answers of a task, here and in the reference run.
    record Count(int right, int reference) {
        Count plus(boolean rightHere, boolean rightThere) {
            return new Count(right + (rightHere ? 1 : 0), reference + (rightThere ? 1 : 0));
        }
    }

    @Test
    void aSampleHasTheReferenceRunsAccuracy() throws Exception {
        List<JsonNode> items = items();
        long seed = Long.getLong("millrace.seed", 20261130);
        System.out.println("TaskAccuracyTest: -Dmillrace.seed=" + seed);
        Collections.shuffle(items, new Random(seed));
        assertAccuracy(items.subList(0, SAMPLE));
    }

    @Test
    @Tag("soak")
    void allItemsHaveTheReferenceRunsAccuracy() throws Exception {
        assertAccuracy(items());
    }

    private static void assertAccuracy(List<JsonNode> items) throws Exception {
        Map<String, Count> counts = answer(items, MINI);
        System.out.println("TaskAccuracyTest: " + counts);
        assertThat(counts)
                .allSatisfy((task, count) -> assertThat(count.right())
                        .as(task)
                        .isBetween(count.reference() - NEAR_TIES, count.reference() + NEAR_TIES));
    }

    static List<JsonNode> items() throws IOException {
        List<JsonNode> items = new ArrayList<>();
        for (String line : Files.readAllLines(MINI.resolve("eval").resolve("tasks.jsonl"))) {
            items.add(JSON.readTree(line));
        }
        return items;
    }

    /// Counts right answers by task.
    ///
    /// @param directory  the model, with a template and a tokenizer
    static Map<String, Count> answer(List<JsonNode> items, Path directory) throws Exception {
        EngineSettings settings = new EngineSettings(
                KernelSettings.defaults(),
                DsaSettings.defaults(),
                new KvSettings(KvFormat.F32, SEQUENCES * 2048),
                new WeightsSettings(0, null, WeightsSettings.OFF));
        Map<String, Count> counts = new TreeMap<>();
        try (LoadedModel model = LoadedModel.load(directory, settings, LoadProgress.SILENT);
                Tokenizer tokenizer = Tokenizer.load(directory);
                EngineLoop loop = new EngineLoop(
                        model, new LoopSettings(SEQUENCES, items.size(), 512, 600_000, null), EngineRole.DECODE);
                ExecutorService requests = Executors.newVirtualThreadPerTaskExecutor()) {
            loop.start();
            ChatTemplate template = ChatTemplate.load(directory).orElseThrow();
            int[] stopIds = model.config().eosTokenIds().stream()
                    .mapToInt(Integer::intValue)
                    .toArray();
            List<Future<Boolean>> answers = new ArrayList<>();
            for (JsonNode item : items) {
                answers.add(requests.submit(() -> isRight(item, template, tokenizer, loop, stopIds)));
            }
            for (int i = 0; i < items.size(); i++) {
                boolean right = answers.get(i).get();
                boolean reference = items.get(i).get("right").asInt() == 1;
                counts.merge(
                        items.get(i).get("task").asString(),
                        new Count(0, 0).plus(right, reference),
                        (a, b) -> new Count(a.right() + b.right(), a.reference() + b.reference()));
            }
        }
        return counts;
    }

    private static boolean isRight(
            JsonNode item, ChatTemplate template, Tokenizer tokenizer, EngineLoop loop, int[] stopIds)
            throws ExecutionException, InterruptedException {
        List<Map<String, @Nullable Object>> tools = ChatMessages.normaliseTools(plain(item.get("tools")));
        ChatInput input = new ChatInput(
                ChatMessages.normalise(plain(item.get("messages"))),
                tools,
                true,
                Map.of("enable_thinking", item.get("enable_thinking").asBoolean()));
        int[] prompt = tokenizer.encode(template.render(input));
        Collector collector = new Collector();
        loop.reserve(new SequenceRequest(
                        "task",
                        0,
                        prompt,
                        new int[0],
                        SamplingParams.GREEDY,
                        1,
                        stopIds,
                        MAX_TOKENS,
                        null,
                        false,
                        false))
                .start(Handover.nothing(), collector);
        ReplyTokens tokens = ReplyTokens.of(tokenizer::idOf);
        ReplyParser parser = new ReplyParser(tokens, tokens.thinking(prompt), tools, "task");
        Detokenizer detokenizer = tokenizer.detokenizer(true);
        ChatReply.Fold fold = new ChatReply.Fold();
        for (int id : collector.ids.get()) {
            fold.add(parser.accept(id, detokenizer.accept(id)));
        }
        fold.add(parser.acceptText(detokenizer.flush()));
        fold.add(parser.finish());
        return isExpected(item.get("expected"), fold.reply());
    }

    private static boolean isExpected(JsonNode expected, ChatReply reply) {
        JsonNode calls = expected.get("tool_calls");
        if (calls == null) {
            return reply.toolCalls().isEmpty()
                    && reply.content().strip().equals(expected.get("content").asString());
        }
        boolean same = calls.size() == reply.toolCalls().size();
        for (int i = 0; same && i < calls.size(); i++) {
            ChatReply.ToolCall call = reply.toolCalls().get(i);
            same = call.complete()
                    && call.name().equals(calls.get(i).get("name").asString())
                    && JSON.readTree(call.arguments()).equals(calls.get(i).get("arguments"));
        }
        return same;
    }

    private static @Nullable Object plain(@Nullable JsonNode node) {
        return node == null ? null : JSON.convertValue(node, new TypeReference<Object>() {});
    }

    private static final class Collector implements SequenceListener {
        private final List<Integer> generated = new ArrayList<>();
        private final CompletableFuture<List<Integer>> ids = new CompletableFuture<>();

        @Override
        public void onBlock(int blockIndex, int[] tokens, byte[][] sections) {}

        @Override
        public void onTail(int tokens, byte[][] sections, float[] boundaryState) {}

        @Override
        public void onTokens(int firstPosition, List<Sampled> tokens) {
            tokens.forEach(token -> generated.add(token.id()));
        }

        @Override
        public void onFinish(int firstPosition, List<Sampled> lastTokens, FinishInfo info) {
            lastTokens.forEach(token -> generated.add(token.id()));
            ids.complete(generated);
        }

        @Override
        public void onError(MillraceException error) {
            ids.completeExceptionally(error);
        }
    }
}
