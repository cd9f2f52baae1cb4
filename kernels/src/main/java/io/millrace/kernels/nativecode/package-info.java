/// Kernels in C, called through the foreign function interface.
@NullMarked
package io.millrace.kernels.nativecode;

import org.jspecify.annotations.NullMarked;
