/// Tests of the operators over the vocabulary.
@NullMarked
package io.millrace.kernels.sampling;

import org.jspecify.annotations.NullMarked;
