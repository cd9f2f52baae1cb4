/// The suite in one process, asked by REST.
@NullMarked
package io.millrace.standalone.suite;

import org.jspecify.annotations.NullMarked;
