/// How all services say that they cannot start: in one sentence.
@NullMarked
package io.millrace.startup;

import org.jspecify.annotations.NullMarked;
