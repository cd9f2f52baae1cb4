/// The whole suite in one JVM, and the `millrace` command line.
@NullMarked
package io.millrace.standalone;

import org.jspecify.annotations.NullMarked;
