package io.millrace.rpc;

import com.google.protobuf.ByteString;
import com.google.protobuf.UnsafeByteOperations;
import io.grpc.Context;
import io.grpc.Status;
import io.grpc.stub.ClientCallStreamObserver;
import io.grpc.stub.ClientResponseObserver;
import io.millrace.engine.kv.BlockChecksum;
import io.millrace.proto.v1.BlockHeader;
import io.millrace.proto.v1.BlockSection;
import io.millrace.proto.v1.KvCacheServiceGrpc.KvCacheServiceStub;
import io.millrace.proto.v1.PutHeader;
import io.millrace.proto.v1.PutRequest;
import io.millrace.proto.v1.PutResponse;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/// Stores blocks, one after the other, as prefill computes them. Used by one thread at a time.
///
/// A send waits until the cache takes bytes, so at most one section beyond gRPC's small send buffer is
/// in memory here;
/// it must not run on an engine loop. After a failure sends return `false` at once and [#finish] tells
/// why. Closing a
/// stream that was not finished drops what was not complete.
public final class PutStream implements AutoCloseable {
    private final SectionSizes sections;
    private final long stallTimeoutMillis;
    private final CacheFaults faults;
    private final Context caller;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();

    private @Nullable ClientCallStreamObserver<PutRequest> requests;
    private @Nullable PutResponse response;
    private @Nullable Throwable failure;
    private boolean ended;
    private boolean finished;

    PutStream(SectionSizes sections, long stallTimeoutMillis, CacheFaults faults) {
        this.sections = sections;
        this.stallTimeoutMillis = stallTimeoutMillis;
        this.faults = faults;
        this.caller = Context.current();
    }

    void open(KvCacheServiceStub stub, String leaseId, String holder, ByteString namespace) {
        stub.put(new Responses());
        send(PutRequest.newBuilder()
                .setHeader(PutHeader.newBuilder()
                        .setLeaseId(leaseId)
                        .setHolder(holder)
                        .setNamespace(namespace)
                        .addAllSectionBytes(sections.sectionBytes()))
                .build());
    }

    /// Sends a full block of 64 tokens.
    ///
    /// @param parentId  id of the block before it; the namespace for the first
    /// @param data      its sections, handed over: they must not change any more
    /// @return false if the stream has failed
    public boolean sendBlock(ByteString id, ByteString parentId, byte[][] data) {
        BlockHeader header = BlockHeader.newBuilder()
                .setId(id)
                .setParentId(parentId)
                .setTokens(64)
                .build();
        return sendAll(header, data);
    }

    /// Sends the tail of 1 to 63 tokens, which belongs to the lease.
    ///
    /// @param id  lease id and index as text, see [#tailId]
    /// @return false if the stream has failed
    public boolean sendTail(ByteString id, int tokens, byte[][] data) {
        BlockHeader header = BlockHeader.newBuilder()
                .setId(id)
                .setTail(true)
                .setTokens(tokens)
                .build();
        return sendAll(header, data);
    }

    /// Name of a lease's tail: `leaseId/index`.
    public static ByteString tailId(String leaseId, int index) {
        return ByteString.copyFromUtf8(leaseId + "/" + index);
    }

    /// Announces a block whose sections follow by [#sendSection], in any order and between those of
    /// other blocks.
    public boolean sendHeader(BlockHeader header) {
        return send(PutRequest.newBuilder().setBlock(header).build());
    }

    /// Sends one section of an announced block.
    public boolean sendSection(ByteString id, int section, byte[] data) {
        if (data.length != sections.bytes(section)) {
            throw new IllegalArgumentException("data: " + data.length + " bytes of section " + section + " (expected: "
                    + sections.bytes(section) + ")");
        }
        return send(PutRequest.newBuilder()
                .setSection(BlockSection.newBuilder()
                        .setBlockId(id)
                        .setLayer(section)
                        .setData(UnsafeByteOperations.unsafeWrap(data))
                        .setCrc32C(BlockChecksum.crc32c(id.toByteArray(), section, data)))
                .build());
    }

    /// Ends the stream and waits for the cache's word.
    public PutResult finish() {
        lock.lock();
        try {
            ClientCallStreamObserver<PutRequest> open = requests;
            if (!ended && !finished && open != null) {
                open.onCompleted();
            }
            finished = true;
            long nanos = TimeUnit.MILLISECONDS.toNanos(stallTimeoutMillis);
            while (!ended && nanos > 0) {
                nanos = changed.awaitNanos(nanos);
            }
            PutResponse reply = response;
            if (reply != null && failure == null) {
                return new PutResult.Stored(
                        reply.getStoredBlocks(), reply.getSkippedBlocks(), reply.getRefusedBlocks());
            }
        } catch (InterruptedException e) {
            cancel("interrupted");
            Thread.currentThread().interrupt();
        } finally {
            lock.unlock();
        }
        cancel("no answer in time");
        return new PutResult.Faulted(faults.ofRemote("put", cause(), caller));
    }

    /// Cancels the stream unless [#finish] was called.
    @Override
    public void close() {
        if (!finished) {
            finished = true;
            cancel("not finished");
        }
    }

    private boolean sendAll(BlockHeader header, byte[][] data) {
        if (data.length != sections.count()) {
            throw new IllegalArgumentException(
                    "data: " + data.length + " sections (expected: " + sections.count() + ")");
        }
        boolean sent = sendHeader(header);
        for (int section = 0; sent && section < data.length; section++) {
            sent = sendSection(header.getId(), section, data[section]);
        }
        return sent;
    }

    private boolean send(PutRequest frame) {
        lock.lock();
        try {
            if (finished) {
                throw new IllegalStateException("the put stream is finished");
            }
            ClientCallStreamObserver<PutRequest> open = requests;
            long nanos = TimeUnit.MILLISECONDS.toNanos(stallTimeoutMillis);
            while (open != null && !ended && !open.isReady() && nanos > 0) {
                nanos = changed.awaitNanos(nanos);
            }
            if (ended || open == null) {
                return false;
            }
            if (nanos <= 0) {
                cancel("the cache took no bytes for " + stallTimeoutMillis + " ms");
                return false;
            }
            open.onNext(frame);
            return true;
        } catch (InterruptedException e) {
            cancel("interrupted");
            Thread.currentThread().interrupt();
            return false;
        } finally {
            lock.unlock();
        }
    }

    private void cancel(String why) {
        lock.lock();
        try {
            if (!ended) {
                ended = true;
                failure = Status.DEADLINE_EXCEEDED.withDescription(why).asRuntimeException();
                ClientCallStreamObserver<PutRequest> open = requests;
                if (open != null) {
                    open.cancel(why, null);
                }
            }
        } finally {
            lock.unlock();
        }
    }

    private Throwable cause() {
        lock.lock();
        try {
            Throwable known = failure;
            return known != null ? known : Status.DATA_LOSS.asRuntimeException();
        } finally {
            lock.unlock();
        }
    }

    private void end(@Nullable Throwable why) {
        lock.lock();
        try {
            if (!ended) {
                ended = true;
                failure = why;
            }
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    private final class Responses implements ClientResponseObserver<PutRequest, PutResponse> {
        @Override
        public void beforeStart(ClientCallStreamObserver<PutRequest> stream) {
            requests = stream;
            stream.setOnReadyHandler(this::ready);
        }

        private void ready() {
            lock.lock();
            try {
                changed.signalAll();
            } finally {
                lock.unlock();
            }
        }

        @Override
        public void onNext(PutResponse value) {
            lock.lock();
            try {
                response = value;
            } finally {
                lock.unlock();
            }
        }

        @Override
        public void onError(Throwable t) {
            end(t);
        }

        @Override
        public void onCompleted() {
            end(null);
        }
    }
}
