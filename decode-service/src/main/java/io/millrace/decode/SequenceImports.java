package io.millrace.decode;

import com.google.protobuf.ByteString;
import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.engine.kv.BlockChain;
import io.millrace.engine.kv.BlockId;
import io.millrace.engine.kv.KvLayout;
import io.millrace.engine.sampling.Sampled;
import io.millrace.engine.schedule.Handover;
import io.millrace.engine.schedule.Reservation;
import io.millrace.proto.v1.CachedTokens;
import io.millrace.proto.v1.DecodeRequest;
import io.millrace.proto.v1.GenerateRequest;
import io.millrace.proto.v1.PrefillReply;
import io.millrace.rpc.generate.GenerateMessages;
import io.millrace.rpc.generate.HeldLeases;
import io.millrace.rpc.generate.ServedInstance;
import io.millrace.rpc.generate.SharedCache;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/// Brings into a reservation what others have computed of its sequence: with prefill's reply all of it,
/// under the lease that prefill opened; without one the cached prefix, under a lease of its own. What the
/// cache does not give is computed here.
final class SequenceImports {
    private static final float[] NO_STATE = {};

    private final ServedInstance served;
    private final Optional<SharedCache> cache;

    SequenceImports(ServedInstance served, Optional<SharedCache> cache) {
        this.served = served;
        this.cache = cache;
    }

    /// A request to decode, checked.
    ///
    /// @param chain    ids of the full blocks of the given tokens
    /// @param prefill  prefill's reply, null without one
    record Task(
            GenerateRequest request,
            BlockId namespace,
            List<BlockId> chain,
            @Nullable PrefillReply prefill) {
        int tokens() {
            return request.getPromptIdsCount() + request.getGeneratedIdsCount();
        }

        String leaseId() {
            return prefill == null ? GenerateMessages.leaseId(request) : prefill.getLeaseId();
        }
    }

    /// What a sequence starts with.
    ///
    /// @param cached  tokens found in the cache at first, as usage tells them
    /// @param lease   kept until the sequence ends
    record Imported(Handover handover, CachedTokens cached, Optional<HeldLeases.Hold> lease) {}

    /// Checks what can be checked before a byte is read.
    ///
    /// @throws MillraceException `KV_NAMESPACE_MISMATCH` if prefill computed for another namespace
    Task check(DecodeRequest message) {
        GenerateRequest request = message.getRequest();
        BlockId namespace = served.namespace(request);
        List<BlockId> chain = BlockChain.ids(namespace, GenerateMessages.allIds(request));
        if (!message.hasPrefill()) {
            return new Task(request, namespace, chain, null);
        }
        PrefillReply prefill = message.getPrefill();
        if (!prefill.getNamespace().equals(GenerateMessages.bytes(namespace))) {
            throw new MillraceException(
                    ErrorCode.KV_NAMESPACE_MISMATCH,
                    "prefill " + prefill.getInstance() + " computed for another KV namespace (expected: " + namespace
                            + ")");
        }
        int tail = (request.getPromptIdsCount() + request.getGeneratedIdsCount()) % KvLayout.PAGE_TOKENS;
        if (prefill.getBlockIdsCount() != chain.size() || prefill.getTail().getTokens() != tail) {
            throw MillraceException.ofParam(
                    ErrorCode.INVALID_REQUEST,
                    "prefill",
                    "prefill: " + prefill.getBlockIdsCount() + " blocks and a tail of "
                            + prefill.getTail().getTokens() + " (expected: " + chain.size() + " and " + tail + ")");
        }
        return new Task(request, namespace, chain, prefill);
    }

    /// Runs in the request's context. The lease of the result is the caller's to end.
    Imported bring(Task task, Reservation into) {
        PrefillReply prefill = task.prefill();
        if (prefill == null) {
            return prefix(task, null, into);
        }
        Sampled first = GenerateMessages.onlyToken(prefill.getFirstToken());
        if (!prefill.getBlocksStored() || cache.isEmpty()) {
            return prefix(task, first, into);
        }
        if (endsWith(first, task.request())) {
            return new Imported(new Handover(0, NO_STATE, first), prefill.getCachedTokens(), Optional.empty());
        }
        return handedOver(task, prefill, first, into, cache.get());
    }

    /// Whether no further token is wanted, so that nothing has to be moved.
    private static boolean endsWith(Sampled first, GenerateRequest request) {
        return request.getStopIdsList().contains(first.id())
                || request.getGeneratedIdsCount() + 1 >= request.getMaxTokens();
    }

    private Imported prefix(Task task, @Nullable Sampled first, Reservation into) {
        List<ByteString> matchable =
                GenerateMessages.bytes(task.chain()).subList(0, (task.tokens() - 1) / KvLayout.PAGE_TOKENS);
        ByteString namespace = GenerateMessages.bytes(task.namespace());
        SharedCache.PrefixHit hit = cache.map(c -> c.importPrefix(task.leaseId(), namespace, matchable, into))
                .orElse(SharedCache.PrefixHit.none());
        PrefillReply prefill = task.prefill();
        CachedTokens cached = prefill == null ? hit.cached() : prefill.getCachedTokens();
        return new Imported(new Handover(hit.tokens(), NO_STATE, first), cached, hit.lease());
    }

    private Imported handedOver(Task task, PrefillReply prefill, Sampled first, Reservation into, SharedCache shared) {
        List<ByteString> blocks = new ArrayList<>(GenerateMessages.bytes(task.chain()));
        float[] state = GenerateMessages.state(
                prefill.getBoundaryState(), served.model().config().hiddenSize());
        Optional<HeldLeases.Hold> lease = shared.join(task.leaseId(), List.copyOf(blocks));
        boolean whole = false;
        try {
            if (lease.isPresent()) {
                if (prefill.hasTail()) {
                    blocks.add(prefill.getTail().getId());
                }
                ByteString namespace = GenerateMessages.bytes(task.namespace());
                whole = shared.importBlocks(task.leaseId(), namespace, blocks, task.tokens(), into);
            }
        } catch (RuntimeException e) {
            lease.ifPresent(HeldLeases.Hold::end);
            throw e;
        }
        Handover handover = whole ? new Handover(task.tokens(), state, first) : new Handover(0, NO_STATE, first);
        return new Imported(handover, prefill.getCachedTokens(), lease);
    }

    /// The request is over: its lease ends, whether this process has joined it or not.
    void endLease(Task task) {
        cache.ifPresent(shared -> shared.endLease(task.leaseId()));
    }

    /// Puts the blocks of a sequence back under its lease.
    Optional<PutBack.Target> putBackTarget(Task task, Imported imported) {
        return cache.flatMap(shared ->
                imported.lease().map(lease -> new PutBack.Target(shared, lease, task.namespace(), task.chain())));
    }
}
