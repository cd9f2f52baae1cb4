/// Chooses the kernel provider of a process.
@NullMarked
package io.millrace.kernels.provider;

import org.jspecify.annotations.NullMarked;
