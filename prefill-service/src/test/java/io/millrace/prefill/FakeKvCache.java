package io.millrace.prefill;

import com.google.protobuf.ByteString;
import io.grpc.Grpc;
import io.grpc.InsecureServerCredentials;
import io.grpc.Server;
import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import io.millrace.engine.kv.BlockChecksum;
import io.millrace.proto.v1.BlockHeader;
import io.millrace.proto.v1.BlockSection;
import io.millrace.proto.v1.FetchDone;
import io.millrace.proto.v1.FetchRequest;
import io.millrace.proto.v1.FetchResponse;
import io.millrace.proto.v1.HoldRequest;
import io.millrace.proto.v1.HoldResponse;
import io.millrace.proto.v1.KvCacheServiceGrpc;
import io.millrace.proto.v1.MatchRequest;
import io.millrace.proto.v1.MatchResponse;
import io.millrace.proto.v1.PinRequest;
import io.millrace.proto.v1.PinResponse;
import io.millrace.proto.v1.PutRequest;
import io.millrace.proto.v1.PutResponse;
import io.millrace.proto.v1.ReleaseRequest;
import io.millrace.proto.v1.ReleaseResponse;
import io.millrace.proto.v1.RenewRequest;
import io.millrace.proto.v1.RenewResponse;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;

/// A prefix cache over a map, on a real port, that can be made to misbehave: for tests of the services
/// that use one.
public final class FakeKvCache extends KvCacheServiceGrpc.KvCacheServiceImplBase implements AutoCloseable {
    private final ConcurrentHashMap<ByteString, List<BlockSection>> blocks = new ConcurrentHashMap<>();
    private final Set<ByteString> tails = ConcurrentHashMap.newKeySet();
    private final Set<String> leases = ConcurrentHashMap.newKeySet();
    private final Server server;
    private volatile boolean refusesPuts;
    private volatile boolean losesBlocks;

    public FakeKvCache() throws IOException {
        server = Grpc.newServerBuilderForPort(0, InsecureServerCredentials.create())
                .executor(Executors.newVirtualThreadPerTaskExecutor())
                .addService(this)
                .build()
                .start();
    }

    public String target() {
        return "localhost:" + server.getPort();
    }

    /// Leases that stand.
    public Set<String> leases() {
        return Set.copyOf(leases);
    }

    /// Full blocks stored.
    public int blocks() {
        return blocks.size() - tails.size();
    }

    public void refusePuts(boolean refuse) {
        refusesPuts = refuse;
    }

    /// Ends each fetch with an error after its first section.
    public void loseBlocks(boolean lose) {
        losesBlocks = lose;
    }

    /// Changes one bit of one section of every block, and leaves the checksums as they are.
    ///
    /// @param section  which section
    /// @param offset   byte in it
    /// @param mask     bits to flip
    public void flip(int section, int offset, int mask) {
        blocks.replaceAll((id, sections) -> {
            List<BlockSection> changed = new ArrayList<>(sections);
            byte[] data = sections.get(section).getData().toByteArray();
            data[offset] ^= (byte) mask;
            changed.set(
                    section,
                    sections.get(section).toBuilder()
                            .setData(ByteString.copyFrom(data))
                            .build());
            return changed;
        });
    }

    /// Makes a section of every block one of NaN, with its checksum.
    public void breakValues(int section) {
        blocks.replaceAll((id, sections) -> {
            List<BlockSection> changed = new ArrayList<>(sections);
            byte[] data = new byte[sections.get(section).getData().size()];
            Arrays.fill(data, (byte) 0xff);
            changed.set(
                    section,
                    sections.get(section).toBuilder()
                            .setData(ByteString.copyFrom(data))
                            .setCrc32C(BlockChecksum.crc32c(id.toByteArray(), section, data))
                            .build());
            return changed;
        });
    }

    public void clear() {
        blocks.clear();
        tails.clear();
    }

    @Override
    public void match(MatchRequest request, StreamObserver<MatchResponse> reply) {
        int matched = 0;
        while (matched < request.getBlockIdsCount() && blocks.containsKey(request.getBlockIds(matched))) {
            matched++;
        }
        leases.add(request.getLeaseId());
        answer(
                reply,
                MatchResponse.newBuilder()
                        .setMatchedBlocks(matched)
                        .setBootEpoch("fake")
                        .build());
    }

    @Override
    public void pin(PinRequest request, StreamObserver<PinResponse> reply) {
        leases.add(request.getLeaseId());
        answer(
                reply,
                PinResponse.newBuilder()
                        .setPinnedBlocks(request.getBlockIdsCount())
                        .build());
    }

    @Override
    public void renew(RenewRequest request, StreamObserver<RenewResponse> reply) {
        answer(reply, RenewResponse.getDefaultInstance());
    }

    @Override
    public void release(ReleaseRequest request, StreamObserver<ReleaseResponse> reply) {
        leases.remove(request.getLeaseId());
        tails.removeIf(id -> {
            boolean ofLease = id.startsWith(ByteString.copyFromUtf8(request.getLeaseId() + "/"));
            if (ofLease) {
                blocks.remove(id);
            }
            return ofLease;
        });
        answer(reply, ReleaseResponse.getDefaultInstance());
    }

    private static <T> void answer(StreamObserver<T> reply, T message) {
        reply.onNext(message);
        reply.onCompleted();
    }

    @Override
    public StreamObserver<HoldRequest> hold(StreamObserver<HoldResponse> reply) {
        return new StreamObserver<>() {
            @Override
            public void onNext(HoldRequest request) {
                reply.onNext(HoldResponse.newBuilder().setBootEpoch("fake").build());
            }

            @Override
            public void onError(Throwable t) {}

            @Override
            public void onCompleted() {
                reply.onCompleted();
            }
        };
    }

    @Override
    public StreamObserver<PutRequest> put(StreamObserver<PutResponse> reply) {
        return new StreamObserver<>() {
            private int stored;

            @Override
            public void onNext(PutRequest frame) {
                switch (frame.getFrameCase()) {
                    case HEADER, FRAME_NOT_SET -> {}
                    case BLOCK -> open(frame.getBlock());
                    case SECTION -> {
                        List<BlockSection> block = blocks.get(frame.getSection().getBlockId());
                        if (block != null) {
                            block.add(frame.getSection());
                        }
                    }
                }
            }

            private void open(BlockHeader header) {
                stored++;
                if (header.getTail()) {
                    tails.add(header.getId());
                }
                blocks.put(header.getId(), new ArrayList<>());
            }

            @Override
            public void onError(Throwable t) {}

            @Override
            public void onCompleted() {
                if (refusesPuts) {
                    reply.onError(Status.RESOURCE_EXHAUSTED.asRuntimeException());
                } else {
                    answer(
                            reply,
                            PutResponse.newBuilder().setStoredBlocks(stored).build());
                }
            }
        };
    }

    @Override
    public void fetch(FetchRequest request, StreamObserver<FetchResponse> reply) {
        for (ByteString id : request.getBlockIdsList()) {
            List<BlockSection> block = blocks.get(id);
            if (block == null) {
                reply.onError(Status.NOT_FOUND.asRuntimeException());
                return;
            }
            for (BlockSection section : block) {
                reply.onNext(FetchResponse.newBuilder().setSection(section).build());
                if (losesBlocks) {
                    reply.onError(Status.UNAVAILABLE.asRuntimeException());
                    return;
                }
            }
        }
        answer(
                reply,
                FetchResponse.newBuilder()
                        .setDone(FetchDone.getDefaultInstance())
                        .build());
    }

    @Override
    public void close() {
        server.shutdownNow();
    }
}
