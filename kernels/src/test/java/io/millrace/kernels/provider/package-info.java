/// Tests of the choice of provider.
@NullMarked
package io.millrace.kernels.provider;

import org.jspecify.annotations.NullMarked;
