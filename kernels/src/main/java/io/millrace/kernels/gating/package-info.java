/// Which experts each row of a step goes to.
@NullMarked
package io.millrace.kernels.gating;

import org.jspecify.annotations.NullMarked;
