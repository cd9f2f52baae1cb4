package io.millrace.kernels.nativecode;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import io.millrace.kernels.ExpertGating;
import io.millrace.kernels.GatedMlpWeights;
import io.millrace.kernels.MoeWeights;
import io.millrace.kernels.RoutedExperts;
import io.millrace.kernels.gating.ExpertRouting;
import io.millrace.kernels.pool.KernelPool;
import java.lang.foreign.MemorySegment;

/// Feed-forwards: the tokens of each expert are gathered, so that an expert's weights are streamed once
/// for all of them; routed and shared experts share every dispatch. Places are rows of the inner
/// buffers: the routed pairs expert by expert, then the rows of the shared expert.
final class ExpertPhases {
    private static final int COMBINE_FIELDS = 10;

    private final KernelPool pool;
    private final LinearPhase linear;
    private final RowPhases rowPhases;
    private final Phase combine;
    private final CallBlock call;
    private final ExpertRouting routing = new ExpertRouting();
    private final RoundedRows roundedInput;
    private final RoundedRows roundedInner;
    private final Buffer scores;
    private final Buffer numbers;
    private final Buffer places;
    private final Buffer factors;
    private final Buffer gates;
    private final Buffer ups;
    private final Buffer outputs;

    ExpertPhases(NativeLibrary library, Buffers buffers, KernelPool pool, LinearPhase linear, RowPhases rowPhases) {
        this.pool = pool;
        this.linear = linear;
        this.rowPhases = rowPhases;
        combine = new Phase(library, "combine", false);
        call = new CallBlock(buffers, COMBINE_FIELDS);
        roundedInput = new RoundedRows(buffers);
        roundedInner = new RoundedRows(buffers);
        scores = buffers.buffer();
        numbers = buffers.buffer();
        places = buffers.buffer();
        factors = buffers.buffer();
        gates = buffers.buffer();
        ups = buffers.buffer();
        outputs = buffers.buffer();
    }

    /// A dense feed-forward.
    void dense(GatedMlpWeights w, long x, int rows, long y) {
        int hidden = w.down().outFeatures();
        int width = w.gate().outFeatures();
        roundInput(x, hidden, rows, RoundedRows.inputs(w.gate(), w.up()));
        long gate = gates.floats((long) rows * width);
        long up = ups.floats((long) rows * width);
        var in = LinearPhase.Rows.of(x, hidden, roundedInput, rows);
        linear.begin(2)
                .add(w.gate(), in, gate, width)
                .add(w.up(), in, up, width)
                .run(pool);
        inner(new Inner(gate, up, width), w.rotation(), RoundedRows.inputs(w.down()), roundedInner, rows);
        linear.begin(1).add(w.down(), LinearPhase.Rows.of(gate, width, roundedInner, rows), y, hidden);
        linear.run(pool);
    }

    private void roundInput(long x, int hidden, int rows, int inputs) {
        if (inputs > 0) {
            rowPhases.round(new RowPhases.Rounding(x, hidden, 0, hidden, inputs), roundedInput, rows);
        }
    }

    void mixture(MoeWeights w, MemorySegment x, int rows, long y) {
        ExpertGating gating = w.gating();
        int hidden = w.gate().inFeatures();
        route(w, x.address(), rows);
        RoutedExperts experts = w.experts();
        GatedMlpWeights shared = w.shared();
        int inputs = Math.max(experts.gates().integerInputs(), experts.ups().integerInputs());
        roundInput(x.address(), hidden, rows, Math.max(inputs, RoundedRows.inputs(shared.gate(), shared.up())));
        int pairs = rows * gating.topK();
        int width = experts.getFirst().gate().outFeatures();
        int sharedWidth = shared.gate().outFeatures();
        // The shared rows come after the pairs; their width may differ.
        long gate = gates.floats((long) pairs * width + (long) rows * sharedWidth);
        long up = ups.floats((long) pairs * width + (long) rows * sharedWidth);
        long out = outputs.floats((long) (pairs + rows) * hidden);
        long sharedShift = (long) pairs * width * Float.BYTES;
        var in = LinearPhase.Rows.of(x.address(), hidden, roundedInput, rows);
        raise(w, in, new Inner(gate, up, width));
        linear.add(shared.gate(), in, gate + sharedShift, sharedWidth)
                .add(shared.up(), in, up + sharedShift, sharedWidth)
                .run(pool);
        int rotation = experts.getFirst().rotation();
        inner(new Inner(gate, up, width), rotation, experts.downs().integerInputs(), roundedInner, pairs);
        lowerRouted(w, gate, width, out);
        var sharedInner = new Inner(gate + sharedShift, up + sharedShift, sharedWidth);
        inner(sharedInner, shared.rotation(), RoundedRows.inputs(shared.down()), roundedInput, rows);
        long sharedOut = out + (long) pairs * hidden * Float.BYTES;
        var sharedIn = LinearPhase.Rows.of(gate + sharedShift, sharedWidth, roundedInput, rows);
        linear.add(shared.down(), sharedIn, sharedOut, hidden).run(pool);
        combine(gating, rows, hidden, out, sharedOut, y);
    }

    /// Inner activations: addresses of gate and up, and their width.
    private record Inner(long gate, long up, int width) {}

    private void inner(Inner i, int rotation, int inputs, RoundedRows rounded, int rows) {
        rowPhases.inner(new RowPhases.Inner(i.gate, i.up, i.width, i.width, rotation, inputs, rounded), rows);
    }

    private void route(MoeWeights w, long x, int rows) {
        ExpertGating gating = w.gating();
        int experts = gating.experts();
        long logits = scores.floats((long) rows * experts);
        var in = LinearPhase.Rows.of(x, w.gate().inFeatures(), null, rows);
        linear.begin(1).add(w.gate(), in, logits, experts).run(pool);
        rowPhases.sigmoid(logits, experts, rows);
        MemorySegment.copy(
                scores.memory(), JAVA_FLOAT, 0, routing.scores(gating, rows), 0, Math.multiplyExact(rows, experts));
        MemorySegment.copy(w.correctionBias(), JAVA_FLOAT, 0, routing.bias(gating), 0, experts);
        routing.route(gating, rows);
        int pairs = rows * gating.topK();
        MemorySegment rowNumbers = numbers.bytes((long) pairs * Integer.BYTES);
        for (int place = 0; place < pairs; place++) {
            rowNumbers.setAtIndex(JAVA_INT, place, routing.row(place));
        }
    }

    private void raise(MoeWeights w, LinearPhase.Rows in, Inner i) {
        RoutedExperts experts = w.experts();
        linear.begin(2 * experts.size() + 2);
        for (int e = 0; e < experts.size(); e++) {
            int start = routing.start(e);
            int count = routing.start(e + 1) - start;
            if (count > 0) {
                var rows = in.gathered(numbers.memory().address() + (long) start * Integer.BYTES, count);
                long shift = (long) start * i.width * Float.BYTES;
                linear.add(experts.gates(), e, rows, i.gate + shift, i.width);
                linear.add(experts.ups(), e, rows, i.up + shift, i.width);
            }
        }
    }

    private void lowerRouted(MoeWeights w, long inner, int width, long out) {
        RoutedExperts experts = w.experts();
        int hidden = w.gate().inFeatures();
        linear.begin(experts.size() + 1);
        for (int e = 0; e < experts.size(); e++) {
            int start = routing.start(e);
            int count = routing.start(e + 1) - start;
            if (count > 0) {
                long x = inner + (long) start * width * Float.BYTES;
                var rows = new LinearPhase.Rows(x, width, roundedInner, start, 1, 0, count);
                linear.add(experts.downs(), e, rows, out + (long) start * hidden * Float.BYTES, hidden);
            }
        }
    }

    private void combine(ExpertGating gating, int rows, int hidden, long out, long shared, long y) {
        int topK = gating.topK();
        MemorySegment placeMemory = places.bytes((long) rows * topK * Integer.BYTES);
        MemorySegment factorMemory = factors.bytes((long) rows * topK * Float.BYTES);
        for (int row = 0; row < rows; row++) {
            for (int k = 0; k < topK; k++) {
                placeMemory.setAtIndex(JAVA_INT, (long) row * topK + k, routing.place(row, k));
                factorMemory.setAtIndex(JAVA_FLOAT, (long) row * topK + k, routing.weight(row, k));
            }
        }
        int perChunk = RowPhases.rowsPerChunk((long) hidden * topK, rows);
        call.begin()
                .put(out)
                .put(hidden)
                .put(shared)
                .put(placeMemory)
                .put(factorMemory)
                .put(topK);
        call.put(y).put(hidden).put(rows).put(perChunk);
        combine.run(pool, call, RowPhases.chunks(rows, perChunk));
    }
}
