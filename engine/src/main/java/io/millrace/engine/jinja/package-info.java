/// A subset of the Jinja template language as chat templates use it, whose texts remember who wrote them.
@NullMarked
package io.millrace.engine.jinja;

import org.jspecify.annotations.NullMarked;
