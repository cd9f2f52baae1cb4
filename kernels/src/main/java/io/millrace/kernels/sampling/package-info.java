/// What the operators over the vocabulary are asked and what they answer.
@NullMarked
package io.millrace.kernels.sampling;

import org.jspecify.annotations.NullMarked;
