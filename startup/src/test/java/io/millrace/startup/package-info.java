/// What a start that fails says.
@NullMarked
package io.millrace.startup;

import org.jspecify.annotations.NullMarked;
