package io.millrace.rpc.generate;

import com.google.protobuf.ByteString;
import com.google.protobuf.Duration;
import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.engine.kv.BlockId;
import io.millrace.engine.sampling.Sampled;
import io.millrace.engine.sampling.SamplingParams;
import io.millrace.engine.sampling.TopLogprob;
import io.millrace.engine.schedule.FinishCause;
import io.millrace.proto.v1.Finish;
import io.millrace.proto.v1.FinishReason;
import io.millrace.proto.v1.GenerateRequest;
import io.millrace.proto.v1.Sampling;
import io.millrace.proto.v1.TokenLogprob;
import io.millrace.proto.v1.Tokens;
import io.millrace.proto.v1.TopLogprobs;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;

/// Translates generate messages to and from the engine's values.
public final class GenerateMessages {
    private GenerateMessages() {}

    /// Token ids of a packed field.
    public static int[] ids(List<Integer> field) {
        int[] ids = new int[field.size()];
        for (int i = 0; i < ids.length; i++) {
            ids[i] = field.get(i);
        }
        return ids;
    }

    /// Prompt and generated ids of a request, in order.
    public static int[] allIds(GenerateRequest request) {
        int[] ids = new int[request.getPromptIdsCount() + request.getGeneratedIdsCount()];
        for (int i = 0; i < request.getPromptIdsCount(); i++) {
            ids[i] = request.getPromptIds(i);
        }
        for (int i = 0; i < request.getGeneratedIdsCount(); i++) {
            ids[request.getPromptIdsCount() + i] = request.getGeneratedIds(i);
        }
        return ids;
    }

    /// How the next token is drawn; what is unset filters nothing, at temperature 1.
    ///
    /// @throws MillraceException `INVALID_REQUEST` for a value out of range
    public static SamplingParams sampling(Sampling message) {
        try {
            return new SamplingParams(
                    message.hasTemperature() ? message.getTemperature() : 1,
                    message.hasTopK() ? message.getTopK() : 0,
                    message.hasTopP() ? message.getTopP() : 1,
                    message.hasMinP() ? message.getMinP() : 0,
                    message.hasTopLogprobs() ? OptionalInt.of(message.getTopLogprobs()) : OptionalInt.empty());
        } catch (IllegalArgumentException e) {
            String sentence = e.getMessage() == null ? "sampling: out of range" : e.getMessage();
            throw new MillraceException(ErrorCode.INVALID_REQUEST, sentence, "sampling", 0, e);
        }
    }

    /// Name of the request's lease; the gateway's, or the one it would have given.
    public static String leaseId(GenerateRequest request) {
        return request.getLeaseId().isEmpty()
                ? request.getRequestId() + "/" + request.getChoiceIndex() + "/" + request.getAttempt()
                : request.getLeaseId();
    }

    /// Sampled tokens as they travel, with log-probabilities where the request wants them.
    public static Tokens tokens(int firstPosition, List<Sampled> sampled, SamplingParams params, long weightVersion) {
        Tokens.Builder tokens =
                Tokens.newBuilder().setFirstPosition(firstPosition).setWeightVersion(weightVersion);
        for (Sampled token : sampled) {
            tokens.addIds(token.id());
            if (params.topLogprobs().isPresent()) {
                tokens.addLogprobs(token.logprob());
                TopLogprobs.Builder top = TopLogprobs.newBuilder();
                for (TopLogprob entry : token.top()) {
                    top.addEntries(TokenLogprob.newBuilder().setId(entry.id()).setLogprob(entry.logprob()));
                }
                tokens.addTopLogprobs(top);
            }
        }
        return tokens.build();
    }

    /// The one token of a message; a log-probability that did not travel is 0.
    ///
    /// @throws MillraceException `INVALID_REQUEST` unless there is exactly one
    public static Sampled onlyToken(Tokens tokens) {
        if (tokens.getIdsCount() != 1) {
            throw MillraceException.ofParam(
                    ErrorCode.INVALID_REQUEST,
                    "first_token",
                    "first_token: " + tokens.getIdsCount() + " tokens (expected: 1)");
        }
        List<TopLogprob> top = new ArrayList<>();
        if (tokens.getTopLogprobsCount() > 0) {
            for (TokenLogprob entry : tokens.getTopLogprobs(0).getEntriesList()) {
                top.add(new TopLogprob(entry.getId(), entry.getLogprob()));
            }
        }
        return new Sampled(tokens.getIds(0), tokens.getLogprobsCount() > 0 ? tokens.getLogprobs(0) : 0, top);
    }

    /// Why a sequence ended, without usage and timings.
    public static Finish.Builder finish(FinishCause cause) {
        Finish.Builder finish = Finish.newBuilder();
        return switch (cause) {
            case FinishCause.StopId(int id) ->
                finish.setReason(FinishReason.FINISH_REASON_STOP).setStopId(id);
            case FinishCause.StopString(String stop, int cutCodePoints) ->
                finish.setReason(FinishReason.FINISH_REASON_STOP)
                        .setStopString(stop)
                        .setCutCharacters(cutCodePoints);
            case FinishCause.Length() -> finish.setReason(FinishReason.FINISH_REASON_LENGTH);
        };
    }

    public static Duration duration(long nanos) {
        return Duration.newBuilder()
                .setSeconds(nanos / 1_000_000_000)
                .setNanos((int) (nanos % 1_000_000_000))
                .build();
    }

    public static ByteString bytes(BlockId id) {
        return ByteString.copyFrom(id.bytes());
    }

    public static List<ByteString> bytes(List<BlockId> ids) {
        List<ByteString> bytes = new ArrayList<>(ids.size());
        for (BlockId id : ids) {
            bytes.add(bytes(id));
        }
        return bytes;
    }

    /// A state as it travels: float32 little-endian.
    public static ByteString state(float[] state) {
        ByteBuffer buffer = ByteBuffer.allocate(state.length * Float.BYTES).order(ByteOrder.LITTLE_ENDIAN);
        buffer.asFloatBuffer().put(state);
        return ByteString.copyFrom(buffer);
    }

    /// @throws MillraceException `INVALID_REQUEST` if it is not of this size
    public static float[] state(ByteString bytes, int elements) {
        if (bytes.size() != elements * Float.BYTES) {
            throw MillraceException.ofParam(
                    ErrorCode.INVALID_REQUEST,
                    "boundary_state",
                    "boundary_state: " + bytes.size() + " bytes (expected: " + elements * Float.BYTES + ")");
        }
        float[] state = new float[elements];
        bytes.asReadOnlyByteBuffer()
                .order(ByteOrder.LITTLE_ENDIAN)
                .asFloatBuffer()
                .get(state);
        return state;
    }
}
