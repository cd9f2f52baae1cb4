/// Tests of the command line as a user types it.
@NullMarked
package io.millrace.standalone;

import org.jspecify.annotations.NullMarked;
