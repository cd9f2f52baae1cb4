package io.millrace.standalone.bench;

import io.millrace.kernels.nativecode.MachineLimits;
import java.util.Optional;

/// What a token costs at least, on the average of a measurement.
///
/// @param bound      what limits its speed
/// @param attention  cost of `sparseMlaAttention`; empty unless attention is dense
public record RowCost(Bound bound, Optional<Attention> attention) {
    private static final int OPS_PER_PRODUCT = 2;
    private static final double MICRO = 1e6;

    /// What limits the speed of some work.
    public sealed interface Bound {}

    /// Reading.
    ///
    /// @param bytesPerToken  read, each byte once a step
    public record Reads(double bytesPerToken) implements Bound {}

    /// Products.
    ///
    /// @param products       all of them
    /// @param int8InWeights  of these the ones with integer weights inside [BenchRow#WEIGHT_OPERATORS]; 0 if
    ///                       weights are floats
    public record Computes(Products products, double int8InWeights) implements Bound {}

    /// @param products  scores, weighted values and W_UV
    /// @param keyBytes  cached keys that are read, each once a step
    public record Attention(Products products, double keyBytes) {
        /// Time that the machine's limits allow: products and reading go on at once, so the longer of both.
        double limitMicros(MachineLimits machine) {
            return MICRO * Math.max(products.seconds(machine), keyBytes / machine.readBytesPerSecond());
        }
    }

    /// Multiply-adds.
    ///
    /// @param int8    of integer weights and keys
    /// @param floats  of all others
    public record Products(double int8, double floats) {
        Products plus(Products other) {
            return new Products(int8 + other.int8, floats + other.floats);
        }

        Products times(double factor) {
            return new Products(int8 * factor, floats * factor);
        }

        /// Time at the machine's peaks.
        double seconds(MachineLimits machine) {
            return OPS_PER_PRODUCT * int8 / machine.int8OpsPerSecond()
                    + OPS_PER_PRODUCT * floats / machine.floatOpsPerSecond();
        }
    }

    /// Tokens per second at which the machine's limit would be reached.
    double limitTokensPerSecond(MachineLimits machine) {
        return switch (bound) {
            case Reads reads -> machine.readBytesPerSecond() / reads.bytesPerToken;
            case Computes computes -> 1 / computes.products.seconds(machine);
        };
    }
}
