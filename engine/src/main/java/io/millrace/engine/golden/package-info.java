/// Compares a loaded model with reference values that came with it.
@NullMarked
package io.millrace.engine.golden;

import org.jspecify.annotations.NullMarked;
