/// Tests of the provider in C against the specification.
@NullMarked
package io.millrace.kernels.nativecode;

import org.jspecify.annotations.NullMarked;
