/// Tests of the SIMD provider against the specification.
@NullMarked
package io.millrace.kernels.vector;

import org.jspecify.annotations.NullMarked;
