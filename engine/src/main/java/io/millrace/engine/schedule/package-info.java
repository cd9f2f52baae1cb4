/// The loop that runs sequences in a continuous batch, and what it asks of others.
@NullMarked
package io.millrace.engine.schedule;

import org.jspecify.annotations.NullMarked;
