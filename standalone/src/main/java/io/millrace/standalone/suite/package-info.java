/// The four services in one process.
@NullMarked
package io.millrace.standalone.suite;

import org.jspecify.annotations.NullMarked;
