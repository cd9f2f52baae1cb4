/// Speed of single operators beside the limits of the machine.
@NullMarked
package io.millrace.benchmarks;

import org.jspecify.annotations.NullMarked;
