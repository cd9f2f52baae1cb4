/// Finds out why Millrace does not run, or would not run well, on this machine.
@NullMarked
package io.millrace.standalone.doctor;

import org.jspecify.annotations.NullMarked;
