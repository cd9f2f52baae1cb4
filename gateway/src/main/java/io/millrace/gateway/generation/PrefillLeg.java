package io.millrace.gateway.generation;

import io.grpc.StatusRuntimeException;
import io.millrace.engine.error.MillraceException;
import io.millrace.gateway.router.Router;
import io.millrace.gateway.router.ServingInstance;
import io.millrace.proto.v1.PrefillReply;
import io.millrace.proto.v1.PrefillServiceGrpc;
import io.millrace.rpc.Leg;
import java.util.HashSet;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/// Has the prompt computed by a prefill instance, another one when that fails. When none can, the
/// answer is empty and
/// decode computes the prompt itself; only when all are merely full the request is refused.
record PrefillLeg(Router router, GenerationSettings settings, GenerationMetrics metrics, FailedCalls failedCalls) {
    /// A computed prompt.
    record Prefilled(PrefillReply reply, ServingInstance instance) {}

    Optional<Prefilled> call(ChoiceState state) {
        int promptTokens = state.request().getPromptIdsCount();
        Set<ServingInstance> failed = new HashSet<>();
        MillraceException lastError = null;
        boolean allBusy = true;
        for (int tries = 0; tries < settings.prefillAttempts(); tries++) {
            Optional<ServingInstance.Call> begun = router.beginPrefill(promptTokens, failed);
            if (begun.isEmpty()) {
                break;
            }
            ServingInstance instance = begun.get().instance();
            try (ServingInstance.Call call = begun.get()) {
                return Optional.of(new Prefilled(reply(state, call), instance));
            } catch (StatusRuntimeException e) {
                ChoiceState.requireWanted();
                state.releaseLeases();
                state.nextAttempt();
                failed.add(instance);
                CallFailure failure = CallFailure.of(e, Leg.PREFILL);
                lastError = failure.error();
                switch (failure) {
                    case CallFailure.Final last -> throw last.error();
                    case CallFailure.Busy _ -> {}
                    case CallFailure.Broken _ -> {
                        allBusy = false;
                        failedCalls.tell(Leg.PREFILL, instance, e);
                    }
                }
            }
        }
        return withoutPrefill(promptTokens, allBusy ? lastError : null);
    }

    private Optional<Prefilled> withoutPrefill(int promptTokens, @Nullable MillraceException busy) {
        if (busy != null) {
            throw busy;
        }
        if (!router.isSmall(promptTokens)) {
            metrics.prefillFellBack();
        }
        return Optional.empty();
    }

    private PrefillReply reply(ChoiceState state, ServingInstance.Call call) {
        ServingInstance instance = call.instance();
        state.leaseOpened();
        PrefillReply reply = call.within(() -> PrefillServiceGrpc.newBlockingStub(instance.channel())
                .withDeadlineAfter(state.millisLeft(), TimeUnit.MILLISECONDS)
                .prefill(state.request()));
        instance.heard();
        return reply;
    }
}
