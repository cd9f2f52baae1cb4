/// Models of random weights, to measure speed on any shape.
@NullMarked
package io.millrace.engine.synthetic;

import org.jspecify.annotations.NullMarked;
