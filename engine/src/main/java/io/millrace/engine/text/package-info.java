/// Text that remembers which of its characters came from outside.
@NullMarked
package io.millrace.engine.text;

import org.jspecify.annotations.NullMarked;
