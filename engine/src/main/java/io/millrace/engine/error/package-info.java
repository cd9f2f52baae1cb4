/// The one list of errors and the one exception that carries them.
@NullMarked
package io.millrace.engine.error;

import org.jspecify.annotations.NullMarked;
