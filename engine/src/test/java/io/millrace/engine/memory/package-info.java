/// Tests of limits of memory.
@NullMarked
package io.millrace.engine.memory;

import org.jspecify.annotations.NullMarked;
