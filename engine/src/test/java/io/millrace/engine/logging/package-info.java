/// What tests read of the log.
@NullMarked
package io.millrace.engine.logging;

import org.jspecify.annotations.NullMarked;
