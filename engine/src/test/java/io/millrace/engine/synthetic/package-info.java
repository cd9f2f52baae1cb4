/// Tests of models of random weights.
@NullMarked
package io.millrace.engine.synthetic;

import org.jspecify.annotations.NullMarked;
