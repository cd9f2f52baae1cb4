/// Tests of benchmarks of operators.
@NullMarked
package io.millrace.benchmarks;

import org.jspecify.annotations.NullMarked;
