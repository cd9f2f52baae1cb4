/// The threads that run chunks of an operator.
@NullMarked
package io.millrace.kernels.pool;

import org.jspecify.annotations.NullMarked;
