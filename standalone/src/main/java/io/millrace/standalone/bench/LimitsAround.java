package io.millrace.standalone.bench;

import io.millrace.kernels.nativecode.MachineLimits;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/// The machine's limits around each measurement of a row. What a machine shared with others can do may double or halve
/// from one second to the next, so a speed is compared with what was possible at its time.
final class LimitsAround {
    private final List<MachineLimits> around = new ArrayList<>();
    private Optional<MachineLimits> last;

    /// @param before  the limits right before the first measurement
    LimitsAround(Optional<MachineLimits> before) {
        this.last = before;
    }

    /// A measurement ended, and these are the limits right after it: of both its sides the better count, and of the
    /// averages the average.
    void add(Optional<MachineLimits> after) {
        last.flatMap(one -> after.map(one::around)).ifPresent(around::add);
        last = after;
    }

    /// The median over the measurements, of each limit by itself; empty where the machine was not measured.
    Optional<MachineLimits> median() {
        return around.isEmpty() ? Optional.empty() : Optional.of(MachineLimits.median(around));
    }
}
