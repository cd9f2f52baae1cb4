/// Tests of checkpoint reading, and tiny checkpoints for other tests.
@NullMarked
package io.millrace.engine.checkpoint;

import org.jspecify.annotations.NullMarked;
