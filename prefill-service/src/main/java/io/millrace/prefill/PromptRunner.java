package io.millrace.prefill;

import com.google.protobuf.ByteString;
import io.millrace.engine.error.MillraceException;
import io.millrace.engine.kv.BlockChain;
import io.millrace.engine.kv.BlockId;
import io.millrace.engine.kv.KvLayout;
import io.millrace.engine.schedule.EngineLoop;
import io.millrace.engine.schedule.Handover;
import io.millrace.engine.schedule.Reservation;
import io.millrace.engine.schedule.SequenceHandle;
import io.millrace.engine.schedule.SequenceRequest;
import io.millrace.proto.v1.GenerateRequest;
import io.millrace.proto.v1.PrefillReply;
import io.millrace.proto.v1.TailBlock;
import io.millrace.proto.v1.Timings;
import io.millrace.rpc.PutResult;
import io.millrace.rpc.PutStream;
import io.millrace.rpc.generate.CallerWatch;
import io.millrace.rpc.generate.GenerateMessages;
import io.millrace.rpc.generate.HeldLeases;
import io.millrace.rpc.generate.ServedInstance;
import io.millrace.rpc.generate.SharedCache;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/// Runs one prompt: reserves pages, opens the lease and imports the cached prefix, computes the rest,
/// puts the blocks as they become full, and answers with the first token. The lease is kept until the
/// answer and then left to decode, which has a lease time to join it; on any failure it is ended.
final class PromptRunner {
    private static final Logger log = LoggerFactory.getLogger(PromptRunner.class);
    private static final long EVENT_TIMEOUT_MILLIS = 600_000;

    private final ServedInstance served;
    private final EngineLoop loop;
    private final Optional<SharedCache> cache;
    private final PrefillMeters meters;

    PromptRunner(ServedInstance served, EngineLoop loop, Optional<SharedCache> cache, PrefillMeters meters) {
        this.served = served;
        this.loop = loop;
        this.cache = cache;
        this.meters = meters;
    }

    /// A request on its way.
    private record Prompt(
            GenerateRequest request,
            SequenceRequest sequence,
            ByteString namespace,
            List<ByteString> chain,
            long startNanos) {
        int tokens() {
            return sequence.givenTokens();
        }

        ByteString parent(int block) {
            return block == 0 ? namespace : chain.get(block - 1);
        }
    }

    /// Runs in the call's gRPC context, and ends when it ends.
    PrefillReply run(GenerateRequest request) {
        long startNanos = System.nanoTime();
        BlockId namespace = served.namespace(request);
        SequenceRequest sequence = sequence(request);
        List<BlockId> chain = BlockChain.ids(namespace, GenerateMessages.allIds(request));
        Prompt prompt = new Prompt(
                request, sequence, GenerateMessages.bytes(namespace), GenerateMessages.bytes(chain), startNanos);
        try (CallerWatch watch = CallerWatch.open();
                Reservation reservation = loop.reserve(sequence)) {
            return compute(prompt, reservation, watch);
        } catch (MillraceException e) {
            meters.refused(e.code().name());
            throw e;
        }
    }

    /// Prefill draws one token and looks at no stop: what follows from it is decode's to decide.
    private static SequenceRequest sequence(GenerateRequest request) {
        return new SequenceRequest(
                request.getRequestId(),
                request.getChoiceIndex(),
                GenerateMessages.ids(request.getPromptIdsList()),
                GenerateMessages.ids(request.getGeneratedIdsList()),
                GenerateMessages.sampling(request.getSampling()),
                request.getSeed(),
                new int[0],
                request.getGeneratedIdsCount() + 1,
                null,
                true,
                true);
    }

    private PrefillReply compute(Prompt prompt, Reservation reservation, CallerWatch watch) {
        // The last token is always computed, for its logits.
        List<ByteString> matchable = prompt.chain().subList(0, (prompt.tokens() - 1) / KvLayout.PAGE_TOKENS);
        String leaseId = GenerateMessages.leaseId(prompt.request());
        long fetchNanos = System.nanoTime();
        SharedCache.PrefixHit hit = cache.map(c -> c.importPrefix(leaseId, prompt.namespace(), matchable, reservation))
                .orElse(SharedCache.PrefixHit.none());
        fetchNanos = System.nanoTime() - fetchNanos;
        boolean stored = false;
        try {
            var events = new PromptEvents(reservation.blocks(), EVENT_TIMEOUT_MILLIS);
            SequenceHandle handle = reservation.start(Handover.ofBlocks(hit.tokens()), events);
            watch.stopBy(handle::cancel);
            Answer answer = new Answer(prompt, leaseId);
            try {
                stored = follow(answer, events, hit.lease());
            } finally {
                handle.cancel();
            }
            return answer.reply(hit, stored, fetchNanos);
        } finally {
            hit.lease().ifPresent(stored ? HeldLeases.Hold::handOver : HeldLeases.Hold::end);
        }
    }

    /// Puts blocks until the first token is there. Returns whether the cache has them all.
    private boolean follow(Answer answer, PromptEvents events, Optional<HeldLeases.Hold> lease) {
        if (lease.isEmpty()) {
            answer.follow(events, null);
            return false;
        }
        try (PutStream put = cache.orElseThrow().openPut(lease.get(), answer.prompt.namespace())) {
            boolean sent = answer.follow(events, put);
            return switch (put.finish()) {
                case PutResult.Stored stored -> sent && stored.complete();
                case PutResult.Faulted ignored -> false;
            };
        }
    }

    /// Gathers the parts of a reply.
    private final class Answer {
        private final Prompt prompt;
        private final PrefillReply.Builder reply = PrefillReply.newBuilder();
        private final String leaseId;
        private PromptEvents.@Nullable Finished end;

        private Answer(Prompt prompt, String leaseId) {
            this.prompt = prompt;
            this.leaseId = leaseId;
            reply.addAllBlockIds(prompt.chain())
                    .setNamespace(prompt.namespace())
                    .setLeaseId(leaseId)
                    .setWeightVersion(served.weightVersion())
                    .setInstance(served.instance());
        }

        /// @param put  null when nothing is to be stored
        /// @return whether everything was sent
        private boolean follow(PromptEvents events, @Nullable PutStream put) {
            boolean sent = true;
            while (end == null) {
                switch (events.take()) {
                    case PromptEvents.Block block -> {
                        ByteString id = prompt.chain().get(block.index());
                        ByteString parent = prompt.parent(block.index());
                        sent = sent && put != null && put.sendBlock(id, parent, block.sections());
                    }
                    case PromptEvents.Tail tail -> sent = tail(tail, put) && sent;
                    case PromptEvents.Finished finished -> end = finished;
                    case PromptEvents.Failed failed -> throw failed.error();
                }
            }
            return sent;
        }

        private boolean tail(PromptEvents.Tail tail, @Nullable PutStream put) {
            reply.setBoundaryState(GenerateMessages.state(tail.boundaryState()));
            if (tail.tokens() == 0) {
                return true;
            }
            ByteString id = PutStream.tailId(leaseId, prompt.chain().size());
            reply.setTail(TailBlock.newBuilder().setId(id).setTokens(tail.tokens()));
            return put != null && put.sendTail(id, tail.tokens(), tail.sections());
        }

        private PrefillReply reply(SharedCache.PrefixHit hit, boolean stored, long fetchNanos) {
            PromptEvents.Finished finished = end;
            if (finished == null) {
                throw new IllegalStateException("a reply before the first token");
            }
            long wholeNanos = System.nanoTime() - prompt.startNanos();
            meters.answered(prompt.tokens(), hit.cached(), finished.info(), wholeNanos);
            log.info(
                    "request {}/{} prefilled: {} tokens, {} cached, blocks stored {}, {} ms",
                    prompt.request().getRequestId(),
                    prompt.request().getChoiceIndex(),
                    prompt.tokens(),
                    hit.tokens(),
                    stored,
                    wholeNanos / 1_000_000);
            return reply.setFirstToken(GenerateMessages.tokens(
                            prompt.request().getGeneratedIdsCount(),
                            List.of(finished.token()),
                            prompt.sequence().sampling(),
                            served.weightVersion()))
                    .setCachedTokens(hit.cached())
                    .setBlocksStored(stored)
                    .setTimings(Timings.newBuilder()
                            .setQueue(GenerateMessages.duration(finished.info().queueNanos()))
                            .setTransfer(GenerateMessages.duration(fetchNanos))
                            .setPrefill(
                                    GenerateMessages.duration(finished.info().prefillNanos())))
                    .build();
        }
    }
}
