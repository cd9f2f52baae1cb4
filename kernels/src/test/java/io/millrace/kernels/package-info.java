/// Tests of the kernel interface and what its providers share.
@NullMarked
package io.millrace.kernels;

import org.jspecify.annotations.NullMarked;
