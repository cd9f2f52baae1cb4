package io.millrace.gateway.generation;

import io.millrace.engine.tokenizer.Tokenizer;
import io.millrace.gateway.router.LeaseReleaser;
import io.millrace.gateway.router.Router;
import java.util.List;
import java.util.function.BooleanSupplier;

/// Starts requests: admits them and sends each choice on its way.
public final class GenerationService {
    private final Tokenizer tokenizer;
    private final Router router;
    private final LeaseReleaser releaser;
    private final Admission admission;
    private final GenerationSettings settings;
    private final PrefillLeg prefillLeg;
    private final DecodeLeg decodeLeg;

    public GenerationService(
            Tokenizer tokenizer,
            Router router,
            LeaseReleaser releaser,
            Admission admission,
            GenerationSettings settings,
            GenerationMetrics metrics) {
        this.tokenizer = tokenizer;
        this.router = router;
        this.releaser = releaser;
        this.admission = admission;
        this.settings = settings;
        FailedCalls failedCalls = new FailedCalls();
        this.prefillLeg = new PrefillLeg(router, settings, metrics, failedCalls);
        this.decodeLeg = new DecodeLeg(router, settings, metrics, failedCalls);
    }

    /// Waits for room, then starts all choices of a request.
    ///
    /// @param abandoned  asked while waiting: true when nobody wants the answer any more
    /// @throws io.millrace.engine.error.MillraceException  `queue_full`, `decode_unavailable`
    public Generation start(List<ChoiceTask> tasks, BooleanSupplier abandoned) {
        router.requireDecode();
        int choices = tasks.size();
        Generation generation = new Generation(choices, () -> admission.release(choices));
        admission.acquire(choices, abandoned);
        generation.start(
                tasks,
                sink -> task -> new ChoiceRun(
                        task,
                        prefillLeg,
                        decodeLeg,
                        new ReplyAssembler(task, tokenizer),
                        new ChoiceState(task, releaser, settings.requestTimeout()),
                        sink));
        return generation;
    }
}
