/// How all services say that they cannot start, in one sentence, and how those end that can serve no more.
@NullMarked
package io.millrace.startup;

import org.jspecify.annotations.NullMarked;
