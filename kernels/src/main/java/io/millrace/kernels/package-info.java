/// Fused operators of the model and the providers that compute them.
@NullMarked
package io.millrace.kernels;

import org.jspecify.annotations.NullMarked;
