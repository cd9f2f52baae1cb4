/// Services as processes of their own, and the tools they are watched with.
@NullMarked
package io.millrace.it.process;

import org.jspecify.annotations.NullMarked;
