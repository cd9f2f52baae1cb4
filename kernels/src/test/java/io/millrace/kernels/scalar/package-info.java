/// Tests of the specification provider.
@NullMarked
package io.millrace.kernels.scalar;

import org.jspecify.annotations.NullMarked;
