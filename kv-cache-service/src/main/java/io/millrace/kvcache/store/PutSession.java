package io.millrace.kvcache.store;

import com.google.protobuf.ByteString;
import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.engine.kv.BlockChecksum;
import io.millrace.kvcache.store.Incoming.State;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/// One put: takes blocks section by section, in any order, and lets each into the tree when it is
/// complete and its
/// parent is there. Room is taken when a block is announced, so bytes that arrive have a place. What is
/// not complete at
/// the end leaves nothing behind.
///
/// Used by one thread at a time. After an exception only [#abort] may be called.
public final class PutSession {
    private final StoreCore core;
    private final PutTerms terms;
    private final PutOwner owner;
    private final long blockBytes;
    private final Map<ByteString, Incoming> announced = new HashMap<>();
    private final Map<ByteString, List<Incoming>> waitingForParent = new HashMap<>();
    private int stored;
    private int skipped;
    private int refused;
    private boolean over;

    PutSession(StoreCore core, PutTerms terms, PutOwner owner) {
        this.core = core;
        this.terms = terms;
        this.owner = owner;
        this.blockBytes = terms.blockBytes();
    }

    /// Announces a block.
    ///
    /// @throws MillraceException INVALID_REQUEST, LEASE_EXPIRED
    public void begin(BlockTerms block) {
        core.locked(() -> {
            requireLease();
            if (announced.containsKey(block.id())) {
                throw invalid("block.id", "announced twice");
            }
            if (announced.size() == core.limits.request().maxPutBlocks()) {
                core.meters.limitReached("put_blocks");
                throw invalid("block", announced.size() + " blocks came already (limit reached)");
            }
            State state = block.tail() ? admitTail(block) : admitBlock(block);
            announced.put(block.id(), new Incoming(block, terms.sectionBytes().size(), state));
        });
    }

    private State admitTail(BlockTerms block) {
        if (!(owner instanceof Lease lease)) {
            throw invalid("block.tail", "true (expected: a lease_id in the header)");
        }
        if (!block.id().startsWith(ByteString.copyFromUtf8(terms.leaseId() + "/"))) {
            throw invalid("block.id", "a tail of another lease (expected: lease_id/index)");
        }
        return lease.tails.containsKey(block.id()) ? skip(PutBlock.DUPLICATE) : claim();
    }

    private State admitBlock(BlockTerms block) {
        TreeNode present = core.tree.find(block.id());
        if (present != null) {
            requireSamePlace(present, block);
            core.tree.touch(present);
            owner.pins().add(present);
            return present.damaged ? claimReplacement(present) : skip(PutBlock.DUPLICATE);
        }
        if (!block.parentId().equals(terms.namespace())) {
            TreeNode parent = core.tree.find(block.parentId());
            Incoming sibling = announced.get(block.parentId());
            boolean comes = sibling != null && sibling.state != State.REFUSED && !sibling.terms.tail();
            if (parent != null && parent.namespace().equals(terms.namespace())) {
                owner.pins().add(parent);
            } else if (!comes) {
                return skip(PutBlock.NO_PARENT);
            }
        }
        return claim();
    }

    private State claimReplacement(TreeNode damaged) {
        if (damaged.sizeBytes != blockBytes) {
            throw invalid("header.section_bytes", blockBytes + " together (expected: " + damaged.sizeBytes + ")");
        }
        return claim();
    }

    private State claim() {
        return core.room.claimIncoming(owner, blockBytes) ? State.RECEIVING : skip(PutBlock.NO_ROOM);
    }

    private State skip(PutBlock outcome) {
        core.meters.put(outcome, 1);
        skipped++;
        if (outcome == PutBlock.DUPLICATE) {
            return State.PRESENT;
        }
        refused++;
        return State.REFUSED;
    }

    private void requireSamePlace(TreeNode present, BlockTerms block) {
        if (!present.namespace().equals(terms.namespace())
                || !present.parentId().equals(block.parentId())) {
            throw invalid("block.id", "is stored with another parent or namespace");
        }
    }

    /// Takes a section of an announced block.
    ///
    /// @throws MillraceException INVALID_REQUEST, KV_CHECKSUM_MISMATCH, LEASE_EXPIRED
    public void section(ByteString blockId, int index, Section section) {
        Incoming block = announced.get(blockId);
        if (block == null) {
            throw invalid("section.block_id", "not announced by a block header");
        }
        if (index < 0 || index >= terms.sectionBytes().size()) {
            throw invalid(
                    "section.layer",
                    index + " (expected: 0.." + (terms.sectionBytes().size() - 1) + ")");
        }
        int expectedBytes = terms.sectionBytes().get(index);
        if (section.data().size() != expectedBytes) {
            throw invalid("section.data", section.data().size() + " bytes (expected: " + expectedBytes + ")");
        }
        if (block.state == State.PRESENT || block.state == State.REFUSED) {
            return;
        }
        if (block.state != State.RECEIVING || block.has(index)) {
            throw invalid("section.layer", index + " came twice");
        }
        if (BlockChecksum.crc32c(blockId.toByteArray(), index, section.data().asReadOnlyByteBuffer())
                != section.crc32c()) {
            core.meters.checksumMismatch();
            throw new MillraceException(
                    ErrorCode.KV_CHECKSUM_MISMATCH, "section " + index + " differs from its checksum on arrival");
        }
        if (block.add(index, section)) {
            core.locked(() -> {
                requireLease();
                settle(block);
            });
        }
    }

    private void settle(Incoming complete) {
        ArrayDeque<Incoming> ready = new ArrayDeque<>();
        ready.add(complete);
        while (!ready.isEmpty()) {
            Incoming block = ready.remove();
            StoredBlock bytes =
                    new StoredBlock(terms.namespace(), block.terms.id(), block.terms.tokens(), block.sections());
            if (block.terms.tail()) {
                storeTail(block, bytes);
            } else if (storeBlock(block, bytes)) {
                ready.addAll(waitingForParent.getOrDefault(block.terms.id(), List.of()));
                waitingForParent.remove(block.terms.id());
            }
        }
    }

    private void storeTail(Incoming block, StoredBlock bytes) {
        if (owner instanceof Lease lease) {
            core.room.endIncoming(blockBytes);
            core.room.addTail(blockBytes);
            lease.tailBytes += blockBytes;
            lease.tails.put(bytes.id(), bytes);
            settled(block, PutBlock.STORED);
        }
    }

    /// Attaches the block, unless its parent is not there yet.
    private boolean storeBlock(Incoming block, StoredBlock bytes) {
        ByteString parentId = block.terms.parentId();
        TreeNode parent = parentId.equals(terms.namespace()) ? null : core.tree.find(parentId);
        if (parent == null && !parentId.equals(terms.namespace())) {
            block.state = State.WAITING;
            waitingForParent.computeIfAbsent(parentId, _ -> new ArrayList<>()).add(block);
            return false;
        }
        TreeNode present = core.tree.find(bytes.id());
        if (present != null) {
            // Another put was faster.
            requireSamePlace(present, block.terms);
        }
        core.room.endIncoming(blockBytes);
        if (present != null) {
            core.tree.touch(present);
            owner.pins().add(present);
            settled(block, replace(present, bytes) ? PutBlock.STORED : PutBlock.DUPLICATE);
        } else {
            TreeNode node = core.tree.attach(parent, bytes);
            owner.pins().add(node);
            if (node.matchable()) {
                core.announce(new StoreEvent.Stored(bytes.id(), parentId));
            }
            settled(block, PutBlock.STORED);
        }
        return true;
    }

    /// Sound bytes for a damaged block. False if it is sound.
    private boolean replace(TreeNode present, StoredBlock bytes) {
        if (!present.damaged) {
            return false;
        }
        for (TreeNode back : core.tree.repair(present, bytes)) {
            core.announce(new StoreEvent.Stored(back.id(), back.parentId()));
        }
        return true;
    }

    private void settled(Incoming block, PutBlock outcome) {
        block.state = State.SETTLED;
        core.meters.put(outcome, 1);
        if (outcome == PutBlock.STORED) {
            stored++;
        } else {
            skipped++;
        }
    }

    /// Ends the put. Blocks that are not complete are dropped and count as refused.
    public PutCounts finish() {
        core.locked(this::close);
        return new PutCounts(stored, skipped, refused);
    }

    /// Ends the put after a failure; nothing happens if it is over.
    public void abort() {
        core.locked(this::close);
    }

    private void close() {
        if (over) {
            return;
        }
        over = true;
        int dropped = 0;
        for (Incoming block : announced.values()) {
            if (block.state == State.RECEIVING || block.state == State.WAITING) {
                core.room.endIncoming(blockBytes);
                dropped++;
            }
        }
        core.meters.put(PutBlock.DROPPED, dropped);
        skipped += dropped;
        refused += dropped;
        announced.clear();
        waitingForParent.clear();
        switch (owner) {
            case UnleasedPut unleased -> unleased.pins().clear();
            case Lease lease -> {
                core.room.reserve(lease.reservedBytes(), 0);
                lease.setReservation(0);
            }
        }
    }

    private void requireLease() {
        if (over) {
            throw new IllegalStateException("the put is over");
        }
        if (owner instanceof Lease lease && lease.ended) {
            throw LeaseTable.notStanding(terms.leaseId());
        }
    }

    private static MillraceException invalid(String field, String problem) {
        return MillraceException.ofParam(ErrorCode.INVALID_REQUEST, field, field + ": " + problem);
    }
}
