package io.millrace.rpc.generate;

import com.google.protobuf.ByteString;
import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.engine.kv.BlockId;
import io.millrace.engine.kv.KvNamespace;
import io.millrace.engine.model.LoadedModel;
import io.millrace.engine.schedule.EngineLoop;
import io.millrace.engine.schedule.EngineStats;
import io.millrace.proto.v1.DescribeResponse;
import io.millrace.proto.v1.DsaSettings;
import io.millrace.proto.v1.GenerateRequest;

/// What an instance serves, as `Describe` tells it, and the KV namespaces that follow from it.
///
/// @param instance  name of the instance
/// @param name      model id
/// @param model     borrowed
public record ServedInstance(String instance, String name, LoadedModel model) {
    private static final int DIGEST_BYTES = 32;
    private static final byte[] NO_ADAPTER = new byte[DIGEST_BYTES];

    public long weightVersion() {
        return model.settings().weights().version();
    }

    /// The namespace of a request's blocks.
    ///
    /// @throws MillraceException if the request wants what this instance does not serve: an adapter,
    ///     other sparse attention; or a tenant salt that is none
    public BlockId namespace(GenerateRequest request) {
        if (!request.getAdapter().isEmpty()) {
            throw MillraceException.ofParam(
                    ErrorCode.NOT_SUPPORTED,
                    "adapter",
                    "adapter: \"" + request.getAdapter() + "\" (expected: none, adapters are not served here)");
        }
        checkDsa(request.getDsa());
        return KvNamespace.compute(
                model.weightsDigest(),
                NO_ADAPTER,
                salt(request.getTenantSalt()),
                model.numericsId(),
                model.layout().layoutId());
    }

    private void checkDsa(DsaSettings dsa) {
        int served = model.topK();
        if (dsa.hasTopK() && dsa.getTopK() != served) {
            throw MillraceException.ofParam(
                    ErrorCode.NOT_SUPPORTED,
                    "dsa.top_k",
                    "dsa.top_k: " + dsa.getTopK() + " (expected: " + served + ", as this instance computes)");
        }
    }

    private static byte[] salt(ByteString salt) {
        if (salt.isEmpty()) {
            return new byte[DIGEST_BYTES];
        }
        if (salt.size() != DIGEST_BYTES) {
            throw MillraceException.ofParam(
                    ErrorCode.INVALID_REQUEST,
                    "tenant_salt",
                    "tenant_salt: " + salt.size() + " bytes (expected: " + DIGEST_BYTES + ", or none)");
        }
        return salt.toByteArray();
    }

    /// Answers `Describe` for a loop of this instance.
    public DescribeResponse describe(EngineLoop loop) {
        EngineStats stats = loop.stats();
        return DescribeResponse.newBuilder()
                .setInstance(instance)
                .setModel(name)
                .setWeightVersion(weightVersion())
                .setWeightsDigest(ByteString.copyFrom(model.weightsDigest()))
                .setAdapterDigest(ByteString.copyFrom(NO_ADAPTER))
                .setNumericsId(model.numericsId())
                .setLayoutId(model.layout().layoutId())
                .setMaxContextTokens(model.config().maxPositionEmbeddings())
                .setKvPoolTokens(loop.poolTokens())
                .setRunningSequences(stats.runningSequences() + stats.reservations())
                .setWaitingSequences(stats.waitingRequests())
                .setKernelProvider(model.kernels().name())
                .build();
    }
}
