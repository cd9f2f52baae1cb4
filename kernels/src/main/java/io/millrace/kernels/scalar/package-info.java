/// The specification provider: obvious loops in double precision.
@NullMarked
package io.millrace.kernels.scalar;

import org.jspecify.annotations.NullMarked;
