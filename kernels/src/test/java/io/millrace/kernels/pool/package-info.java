/// Tests of the kernel threads.
@NullMarked
package io.millrace.kernels.pool;

import org.jspecify.annotations.NullMarked;
