/// Tests of packed weights.
@NullMarked
package io.millrace.engine.pack;

import org.jspecify.annotations.NullMarked;
