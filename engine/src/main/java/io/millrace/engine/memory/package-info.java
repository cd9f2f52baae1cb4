/// How much memory the process may have.
@NullMarked
package io.millrace.engine.memory;

import org.jspecify.annotations.NullMarked;
