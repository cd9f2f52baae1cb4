/// Tests of sampling.
@NullMarked
package io.millrace.engine.sampling;

import org.jspecify.annotations.NullMarked;
